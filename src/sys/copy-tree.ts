import * as fs from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { AwError } from '../domain/errors.ts'
import type { ImportReport, SkipReason } from '../ports/storage-driver.ts'
import { hostFs } from './host-fs.ts'
import { hasCode } from './links.ts'
import { at, display, type Name } from './safe-fs/descriptors.ts'
import { readNames } from './safe-fs/list.ts'
import { copyAttributes } from './safe-fs/xattr.ts'

/**
 * Copies a folder's tree into a directory that only we can reach, made if it is missing. The source may change while it
 * is read, so it is walked by descriptors and no link of it is ever followed. Sockets, pipes, devices and other file
 * systems mounted in it are left out and reported. Names are bytes: they need not be text.
 */
export async function copyTree(from: string, to: string, options: CopyOptions): Promise<ImportReport> {
  const source = openDirectory(from)
  try {
    makeDirectory(to)
    const target = openDirectory(to)
    try {
      const state: State = {
        options,
        root: target,
        device: fs.fstatSync(source).dev,
        links: new Map(),
        files: 0,
        bytes: 0,
        reflinked: 0,
        skipped: [],
        breath: performance.now(),
        owner: process.getuid?.() === 0,
      }
      await copyDirectory(state, source, target, [])
      const { files, bytes, reflinked, skipped } = state
      return { files, bytes, reflinked, skipped }
    } finally {
      fs.closeSync(target)
    }
  } finally {
    fs.closeSync(source)
  }
}

interface CopyOptions {
  /** What is never opened, as `device:inode`. */
  readonly guarded?: ReadonlySet<string> | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: { files: number; bytes: number }) => void) | undefined
}

/** From the top of the tree to here. */
type Names = readonly Name[]

interface State {
  readonly options: CopyOptions
  /** The top of the copy. */
  readonly root: number
  readonly device: number
  /** Where the first name of a file with several was copied to. */
  readonly links: Map<string, Names>
  readonly skipped: { path: string; reason: SkipReason }[]
  readonly owner: boolean
  files: number
  bytes: number
  reflinked: number
  breath: number
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = fs.constants
const { COPYFILE_FICLONE, COPYFILE_FICLONE_FORCE, COPYFILE_EXCL } = fs.constants
const openDirectory = (path: string | Buffer): number => fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

async function copyDirectory(state: State, from: number, to: number, names: Names): Promise<void> {
  for (const name of readNames(from)) {
    await pause(state)
    const path = [...names, name]
    const source = at(from, name)
    const stat = reading(state, path, () => fs.lstatSync(source, { bigint: true }))
    if (stat === undefined) continue
    if (state.options.guarded?.has(`${stat.dev}:${stat.ino}`)) skip(state, path, 'guarded')
    else if (stat.isDirectory()) await descend(state, source, at(to, name), path)
    else if (stat.isFile()) copyFile(state, source, at(to, name), path)
    else if (stat.isSymbolicLink()) copyLink(state, source, at(to, name), path, stat)
    else skip(state, path, stat.isFIFO() ? 'fifo' : stat.isSocket() ? 'socket' : 'device')
  }
  dress(state, to, from, names.length === 0)
}

const skip = (state: State, path: Names, reason: SkipReason): void =>
  void state.skipped.push({ path: path.map(display).join('/'), reason })

async function descend(state: State, source: string | Buffer, target: string | Buffer, path: Names): Promise<void> {
  const from = reading(state, path, () => openDirectory(source))
  if (from === undefined) return
  try {
    if (fs.fstatSync(from).dev !== state.device) return skip(state, path, 'mount')
    makeDirectory(target)
    const to = openDirectory(target)
    try {
      await copyDirectory(state, from, to, path)
    } finally {
      fs.closeSync(to)
    }
  } finally {
    fs.closeSync(from)
  }
}

function makeDirectory(path: string | Buffer): void {
  try {
    hostFs.mkdirSync(path, 0o700)
  } catch (error) {
    // The profile's own directories are there before the source is.
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

function copyFile(state: State, source: string | Buffer, target: string | Buffer, path: Names): void {
  const fd = reading(state, path, () => fs.openSync(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  if (fd === undefined) return
  try {
    const stat = fs.fstatSync(fd)
    // It may have been swapped for something else since the directory was read.
    if (!stat.isFile()) return skip(state, path, 'device')
    const key = `${stat.dev}:${stat.ino}`
    const twin = stat.nlink > 1 ? state.links.get(key) : undefined
    if (twin !== undefined) return hostFs.linkSync(at(state.root, joined(twin)), target)
    copyBytes(state, fd, target)
    const copy = openCopy(target)
    try {
      dress(state, copy, fd, false)
    } finally {
      fs.closeSync(copy)
    }
    if (stat.nlink > 1) state.links.set(key, path)
    state.files += 1
    state.bytes += stat.size
  } finally {
    fs.closeSync(fd)
  }
}

const joined = (names: Names): Buffer =>
  Buffer.from(names.map((name) => Buffer.from(name).toString('latin1')).join('/'), 'latin1')

/** A file that we could read as one of its group need not be one that its owner may read. */
function openCopy(target: string | Buffer): number {
  try {
    return fs.openSync(target, O_RDONLY | O_NOFOLLOW)
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error
    hostFs.chmodSync(target, 0o600)
    return fs.openSync(target, O_RDONLY | O_NOFOLLOW)
  }
}

let sharing = true

/** Shares blocks with the source where the file system can; the first refusal settles it for this process. */
function copyBytes(state: State, fd: number, target: string | Buffer): void {
  if (sharing) {
    try {
      hostFs.copyFileSync(at(fd), target, COPYFILE_FICLONE_FORCE | COPYFILE_EXCL)
      state.reflinked += 1
      return
    } catch (error) {
      if (!hasCode(error, 'ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'ENOSYS', 'EINVAL', 'ENOTTY')) throw error
      sharing = false
      fs.rmSync(target, { force: true })
    }
  }
  hostFs.copyFileSync(at(fd), target, COPYFILE_FICLONE | COPYFILE_EXCL)
}

function copyLink(
  state: State,
  source: string | Buffer,
  target: string | Buffer,
  path: Names,
  stat: fs.BigIntStats,
): void {
  const text = reading(state, path, () => fs.readlinkSync(source, { encoding: 'buffer' }))
  if (text === undefined) return
  hostFs.symlinkSync(text, target)
  if (state.owner) hostFs.lchownSync(target, Number(stat.uid), Number(stat.gid))
  hostFs.lutimesSync(target, seconds(stat.atimeNs), seconds(stat.mtimeNs))
}

/** Owner, mode, attributes and times, in the order in which none undoes another. */
function dress(state: State, to: number, from: number, isTop: boolean): void {
  const stat = fs.fstatSync(from, { bigint: true })
  if (state.owner) hostFs.fchownSync(to, Number(stat.uid), Number(stat.gid))
  copyAttributes(from, to)
  // A read-only folder makes a workspace that its owner can work in all the same.
  hostFs.fchmodSync(to, (Number(stat.mode) & 0o7777) | (isTop ? 0o700 : 0))
  hostFs.futimesSync(to, seconds(stat.atimeNs), seconds(stat.mtimeNs))
}

/** Node takes seconds as a floating-point number, which is good for about a microsecond; a Date is for a millisecond. */
const seconds = (nanoseconds: bigint): number => Number(nanoseconds) / 1e9

/** What may not be read, or went away or changed into something else, is reported and left out. */
function reading<T>(state: State, path: Names, look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    if (!hasCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENOTDIR', 'EINVAL', 'ENXIO')) throw error
    skip(state, path, 'unreadable')
    return undefined
  }
}

/** Lets other work go on, tells how far we are, and notices a cancelled caller. */
async function pause(state: State): Promise<void> {
  const { signal, onProgress } = state.options
  if (signal?.aborted) throw new AwError('aborted', 'The copy was cancelled', { cause: signal.reason })
  if (performance.now() - state.breath < 40) return
  await breathe()
  state.breath = performance.now()
  onProgress?.({ files: state.files, bytes: state.bytes })
}
