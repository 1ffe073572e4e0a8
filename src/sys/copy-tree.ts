import * as fs from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { AwError } from '../domain/errors.ts'
import type { ImportReport } from '../ports/storage-driver.ts'
import { hostFs } from './host-fs.ts'
import { hasCode } from './links.ts'
import { copyAttributes } from './safe-fs/xattr.ts'

/**
 * Copies a folder's tree into a directory that only we can reach. The source may change while it is read, so it is
 * walked by descriptors and no link of it is ever followed. Sockets, pipes, devices and other file systems mounted in
 * it are left out and reported.
 */
export async function copyTree(from: string, to: string, options: CopyOptions): Promise<ImportReport> {
  const root = openDirectory(from)
  try {
    const state: State = {
      options,
      device: fs.fstatSync(root).dev,
      links: new Map(),
      files: 0,
      bytes: 0,
      reflinked: 0,
      skipped: [],
      breath: performance.now(),
      owner: process.getuid?.() === 0,
    }
    await copyDirectory(state, root, to, '')
    const { files, bytes, reflinked, skipped } = state
    return { files, bytes, reflinked, skipped }
  } finally {
    fs.closeSync(root)
  }
}

interface CopyOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: { files: number; bytes: number }) => void) | undefined
}

interface State {
  readonly options: CopyOptions
  readonly device: number
  /** Where the first name of a file with several was copied to. */
  readonly links: Map<string, string>
  readonly skipped: { path: string; reason: ImportReport['skipped'][number]['reason'] }[]
  readonly owner: boolean
  files: number
  bytes: number
  reflinked: number
  breath: number
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY, COPYFILE_FICLONE, COPYFILE_FICLONE_FORCE, COPYFILE_EXCL } =
  fs.constants
const below = (fd: number, name: string): string => `/proc/self/fd/${fd}/${name}`
const openDirectory = (path: string): number => fs.openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

async function copyDirectory(state: State, fd: number, to: string, path: string): Promise<void> {
  for (const entry of fs.readdirSync(`/proc/self/fd/${fd}`, { withFileTypes: true })) {
    await pause(state)
    const name = path === '' ? entry.name : `${path}/${entry.name}`
    const source = below(fd, entry.name)
    const target = `${to}/${entry.name}`
    if (entry.isDirectory()) await descend(state, source, target, name)
    else if (entry.isFile()) copyFile(state, source, target, name)
    else if (entry.isSymbolicLink()) copyLink(state, source, target)
    else state.skipped.push({ path: name, reason: entry.isFIFO() ? 'fifo' : entry.isSocket() ? 'socket' : 'device' })
  }
  dress(state, to, fd, fs.fstatSync(fd))
}

async function descend(state: State, source: string, target: string, name: string): Promise<void> {
  const fd = reading(state, name, () => openDirectory(source))
  if (fd === undefined) return
  try {
    if (fs.fstatSync(fd).dev !== state.device) return void state.skipped.push({ path: name, reason: 'mount' })
    hostFs.mkdirSync(target, 0o700)
    await copyDirectory(state, fd, target, name)
  } finally {
    fs.closeSync(fd)
  }
}

function copyFile(state: State, source: string, target: string, name: string): void {
  const fd = reading(state, name, () => fs.openSync(source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK))
  if (fd === undefined) return
  try {
    const stat = fs.fstatSync(fd)
    // It may have been swapped for something else since the directory was read.
    if (!stat.isFile()) return void state.skipped.push({ path: name, reason: 'device' })
    const key = `${stat.dev}:${stat.ino}`
    const twin = stat.nlink > 1 ? state.links.get(key) : undefined
    if (twin !== undefined) return hostFs.linkSync(twin, target)
    copyBytes(state, fd, target)
    dress(state, target, fd, stat)
    if (stat.nlink > 1) state.links.set(key, target)
    state.files += 1
    state.bytes += stat.size
  } finally {
    fs.closeSync(fd)
  }
}

let sharing = true

/** Shares blocks with the source where the file system can; the first refusal settles it for this process. */
function copyBytes(state: State, fd: number, target: string): void {
  const source = `/proc/self/fd/${fd}`
  if (sharing) {
    try {
      hostFs.copyFileSync(source, target, COPYFILE_FICLONE_FORCE | COPYFILE_EXCL)
      state.reflinked += 1
      return
    } catch (error) {
      if (!hasCode(error, 'ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'ENOSYS', 'EINVAL', 'ENOTTY')) throw error
      sharing = false
      fs.rmSync(target, { force: true })
    }
  }
  hostFs.copyFileSync(source, target, COPYFILE_FICLONE | COPYFILE_EXCL)
}

function copyLink(state: State, source: string, target: string): void {
  const stat = fs.lstatSync(source)
  hostFs.symlinkSync(fs.readlinkSync(source, { encoding: 'buffer' }), target)
  if (state.owner) hostFs.lchownSync(target, stat.uid, stat.gid)
  hostFs.lutimesSync(target, stat.atime, stat.mtime)
}

/** Owner, mode, attributes and times, in the order in which none undoes another. */
function dress(state: State, target: string, sourceFd: number, stat: fs.Stats): void {
  const fd = fs.openSync(target, O_RDONLY | O_NOFOLLOW)
  try {
    if (state.owner) hostFs.fchownSync(fd, stat.uid, stat.gid)
    copyAttributes(sourceFd, fd)
    hostFs.fchmodSync(fd, stat.mode & 0o7777)
    hostFs.futimesSync(fd, stat.atime, stat.mtime)
  } finally {
    fs.closeSync(fd)
  }
}

/** What may not be read, or went away, is reported and left out. */
function reading(state: State, name: string, open: () => number): number | undefined {
  try {
    return open()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    if (!hasCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENOTDIR', 'ENXIO')) throw error
    state.skipped.push({ path: name, reason: 'unreadable' })
    return undefined
  }
}

/** Lets other work go on, tells how far we are, and notices a cancelled caller. */
async function pause(state: State): Promise<void> {
  if (performance.now() - state.breath < 40) return
  await breathe()
  state.breath = performance.now()
  state.options.onProgress?.({ files: state.files, bytes: state.bytes })
  if (state.options.signal?.aborted)
    throw new AwError('aborted', 'The copy was cancelled', { cause: state.options.signal.reason })
}
