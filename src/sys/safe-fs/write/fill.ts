import * as fs from 'node:fs'
import { hostFs } from '../../fs/host-fs.ts'
import { at, directoryFlags, errnoOf, mountId, namingFlags, readFlags } from '../descriptors.ts'
import { translatingErrors } from '../errors.ts'
import { chownLikeParent, makeDirectory } from './make-directory.ts'
import type { Root } from '../root.ts'

type Files = readonly (readonly [name: string, content: string])[]

/** See `FileHandle.fill`. */
export function fill(root: Root, directory: string, files: Files, mode: number): Files {
  return translatingErrors(directory, () => {
    const dir = open(root, directory)
    if (dir === undefined) return files
    try {
      if (mountId(dir) !== root.mount) return files
      return files.filter(([name, content]) => !put(root, dir, name, Buffer.from(content), mode))
    } finally {
      fs.closeSync(dir)
    }
  })
}

function open(root: Root, name: string): number | undefined {
  for (;;) {
    const dir = unlessInTheWay(() => fs.openSync(at(root.fd, name), directoryFlags))
    if (dir !== 'absent') return dir
    makeDirectory(root, root.fd, name)
  }
}

/** False if something is there that is no file of its own. */
function put(root: Root, dir: number, name: string, content: Buffer, mode: number): boolean {
  const there = unlessInTheWay(() => fs.openSync(at(dir, name), namingFlags))
  if (there === undefined) return false
  if (there === 'absent') {
    write(hostFs.createSync(at(dir, name), mode), content, mode, dir)
    return true
  }
  try {
    const stats = fs.fstatSync(there)
    if (!stats.isFile() || stats.nlink > 1 || mountId(there) !== root.mount) return false
    if (stats.size === content.length && (stats.mode & 0o7777) === mode && holds(there, content)) return true
    const file = unlessInTheWay(() => hostFs.openEmptySync(at(there)))
    if (typeof file !== 'number') return false
    write(file, content, mode)
    return true
  } finally {
    fs.closeSync(there)
  }
}

function write(fd: number, content: Buffer, mode: number, owner?: number): void {
  try {
    if (owner !== undefined) chownLikeParent(owner, fd)
    hostFs.writeSync(fd, content)
    // Whatever the umask, and whatever it was before.
    if ((fs.fstatSync(fd).mode & 0o7777) !== mode) hostFs.fchmodSync(fd, mode)
  } finally {
    fs.closeSync(fd)
  }
}

/** Reading is cheaper than writing, most of all where that copies. */
function holds(there: number, content: Buffer): boolean {
  const fd = unlessInTheWay(() => fs.openSync(at(there), readFlags))
  if (typeof fd !== 'number') return false
  try {
    const found = Buffer.alloc(content.length)
    return fs.readSync(fd, found, 0, found.length, 0) === found.length && found.equals(content)
  } finally {
    fs.closeSync(fd)
  }
}

/** What is of another kind, a link too, or may not be opened by us, is in the way. */
function unlessInTheWay(act: () => number): number | 'absent' | undefined {
  try {
    return act()
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT') return 'absent'
    if (errno === 'ENOTDIR' || errno === 'ELOOP' || errno === 'EACCES' || errno === 'EPERM') return undefined
    throw error
  }
}
