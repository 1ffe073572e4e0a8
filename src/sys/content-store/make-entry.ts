import * as fs from 'node:fs'
import { AwError } from '../../domain/errors.ts'
import { hasCode } from '../errno.ts'
import { hostFs } from '../host-fs.ts'
import { native } from '../native.ts'
import { at, namingFlags } from '../safe-fs/descriptors.ts'
import type { Steps } from '../safe-fs/steps.ts'
import { type Where, writeAttributes } from '../trees/attributes.ts'
import { atBytes } from '../trees/names.ts'
import type { Entry } from './entry.ts'
import type { Objects } from './objects.ts'

const types = { fifo: 0o010000, char: 0o020000, block: 0o060000, socket: 0o140000 } as const
/** Asked once: a process stays who it is, and this is needed for each file. */
const isRoot = process.getuid?.() === 0

/** What is told of something besides its content. */
export type Looks = Pick<Entry, 'kind' | 'mode' | 'uid' | 'gid' | 'mtimeNs' | 'attributes'>

/** `device`: it could not be made, as this process may not, or system calls are missing. */
export type Made = 'made' | 'shared' | 'device'

/** Makes an entry that is no directory under a free name in an open directory, exactly as it was. */
export function* makeEntry(objects: Objects, directory: number, name: string, entry: Entry): Steps<Made> {
  const path = atBytes(directory, name)
  if (entry.kind === 'file') return yield* makeFile(objects, path, entry)
  if (entry.kind === 'symlink') hostFs.symlinkSync(Buffer.from(entry.content, 'latin1'), path)
  else if (!makeNode(path, entry)) return 'device'
  dress(path, entry)
  return 'made'
}

function* makeFile(objects: Objects, path: string | Buffer, entry: Entry): Steps<Made> {
  const fd = hostFs.createSync(path, 0o600)
  let shared = false
  try {
    if (entry.size > 0) {
      const filled = yield* objects.fill(entry.content, entry.size, fd)
      if (filled === undefined) throw lost(entry)
      shared = filled.shared
    }
    dressFile(fd, path, entry)
  } finally {
    fs.closeSync(fd)
  }
  return shared ? 'shared' : 'made'
}

/** Of a file that has just been made and filled, and is still open. */
export function dressFile(fd: number, path: string | Buffer, entry: Looks): void {
  if (isRoot) hostFs.fchownSync(fd, entry.uid, entry.gid)
  // Before the mode, which may forbid it.
  if (entry.attributes !== '') writeAttributes(path, entry.attributes, 'anywhere')
  hostFs.fchmodSync(fd, entry.mode)
  hostFs.utimesNsSync(path, entry.mtimeNs, entry.mtimeNs)
}

export const lost = ({ path }: Pick<Entry, 'path'>): AwError =>
  new AwError('filesystem_error', `The content of ${path} in the snapshot is missing or damaged`, {
    hint: 'To see what else is: aw verify',
    data: { path, reason: 'damaged' },
  })

/** A pipe, a socket or a device. False if this process may not, or system calls are missing. */
export function makeNode(path: string | Buffer, { kind, content }: Pick<Entry, 'kind' | 'content'>): boolean {
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
export function dress(path: string | Buffer, entry: Looks, where: Where = 'anywhere'): void {
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
