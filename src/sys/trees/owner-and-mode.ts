import * as fs from 'node:fs'
import type { ChangeEntry } from '../../domain/trees/diff.ts'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from '../fs/host-fs.ts'
import { native } from '../syscalls/native.ts'
import { at, namingFlags } from '../safe-fs/descriptors.ts'
import { type Where, writeAttributes } from './attributes.ts'

const types = { fifo: 0o010000, char: 0o020000, block: 0o060000, socket: 0o140000 } as const
/** Asked once: a process stays who it is, and this is needed for each file. */
const isRoot = process.getuid?.() === 0

/** What is told of something besides its content. */
export interface EntryAttributes {
  readonly kind: ChangeEntry['kind']
  /** Without the kind. */
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtimeNs: bigint
  readonly attributes: string
}

/** Of a file that has just been made and filled, and is still open. */
export function applyToOpenFile(fd: number, path: string | Buffer, entry: EntryAttributes): void {
  if (isRoot) hostFs.fchownSync(fd, entry.uid, entry.gid)
  // Before the mode, which may forbid it.
  if (entry.attributes !== '') writeAttributes(path, entry.attributes, 'anywhere')
  hostFs.fchmodSync(fd, entry.mode)
  hostFs.utimesNsSync(path, entry.mtimeNs, entry.mtimeNs)
}

/** A pipe, a socket or a device. False if this process may not, or system calls are missing. */
export function makeNode(path: string | Buffer, { kind, content }: { kind: string; content: string }): boolean {
  if (native() === undefined) return false
  const [major = 0, minor = 0] = content.split(':').map(Number)
  try {
    hostFs.mknodSync(path, (types[kind as keyof typeof types] ?? 0) | 0o600, deviceOf(major, minor))
    return true
  } catch (error) {
    if ((kind === 'block' || kind === 'char') && hasCode(error, 'EPERM')) return false
    throw error
  }
}

/** As `mknod` takes it. */
const deviceOf = (major: number, minor: number): number =>
  ((minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xfff00) << 12)) >>> 0

/** Owner, attributes, mode and times, in the order in which none undoes or forbids another. A link is not followed. */
export function applyOwnerAndMode(path: string | Buffer, entry: EntryAttributes, where: Where = 'anywhere'): void {
  if (isRoot) hostFs.lchownSync(path, entry.uid, entry.gid)
  const isLink = entry.kind === 'symlink'
  if (!isLink) setMode(path, entry.mode | (entry.kind === 'directory' ? 0o700 : 0o600))
  writeAttributes(path, entry.attributes, where)
  hostFs.utimesNsSync(path, entry.mtimeNs, entry.mtimeNs)
  if (!isLink) setMode(path, entry.mode)
}

/** By a descriptor that names it and nothing else: what is swapped in is not followed. */
function setMode(path: string | Buffer, mode: number): void {
  const fd = fs.openSync(path, namingFlags)
  try {
    if (!fs.fstatSync(fd).isSymbolicLink()) hostFs.chmodSync(at(fd), mode)
  } finally {
    fs.closeSync(fd)
  }
}
