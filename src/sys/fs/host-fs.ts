import * as fs from 'node:fs'
import { counted } from './crash-points.ts'
import { hasCode } from '../syscalls/errno.ts'
import { AT_FDCWD, native, RENAME } from '../syscalls/native.ts'

/**
 * Every change that is made to the host's file systems is one of these calls, so that the crash tests can stop the
 * process before each of them. Reading needs no such care and uses `node:fs` directly.
 *
 * The calls are Node's, under Node's names, and throw what Node throws. `createSync` makes a file that must not exist;
 * `renameNoReplaceSync` never replaces anything.
 */
export const hostFs = counted({
  mkdirSync: (path: fs.PathLike, mode = 0o777): void => void fs.mkdirSync(path, { mode }),
  renameSync: fs.renameSync,
  renameNoReplaceSync,
  /** Looks first, then renames: for a name that nobody else takes meanwhile. Needs no system call loaded. */
  renameToFreeSync: renameIfAbsent,
  exchangeSync,
  unlinkSync: fs.unlinkSync,
  rmdirSync: (path: fs.PathLike): void => fs.rmdirSync(path),
  symlinkSync: (target: fs.PathLike, path: fs.PathLike): void => fs.symlinkSync(target, path),
  linkSync: fs.linkSync,
  /** Opens for writing. Neither an existing file nor a link in its place is ever opened. */
  createSync: (path: fs.PathLike, mode: number): number => fs.openSync(path, createFlags, mode),
  /** Opens a new file for writing that has no name, on the disk of a directory: it goes with its descriptor. */
  createUnnamedSync: (directory: fs.PathLike, mode: number): number => fs.openSync(directory, unnamedFlags, mode),
  /** Gives it a name that nothing has yet. */
  nameSync: (fd: number, path: string | Buffer): void => native()?.linkDescriptor(fd, path),
  /** Leaves nothing in an existing file. As a flag of opening it: an overlay then does not copy what goes anyway. */
  openEmptySync: (path: fs.PathLike): number => fs.openSync(path, emptyFlags),
  /** Opens an existing file for appending; never waits for the other end of a pipe. */
  openAppendSync: (path: fs.PathLike): number => fs.openSync(path, appendFlags),
  /** Writes everything: at a position, or at the end of what this descriptor has written. */
  writeSync: writeAllSync,
  /** The same on another thread: a disk that is busy takes its time. */
  write: writeAll,
  copyFileSync: fs.copyFileSync,
  ftruncateSync: fs.ftruncateSync,
  fsyncSync: fs.fsyncSync,
  fsync: (fd: number): Promise<void> =>
    new Promise((resolve, reject) => fs.fsync(fd, (error) => (error ? reject(error) : resolve()))),
  /** Only of what is needed to read the content again. */
  fdatasync: (fd: number): Promise<void> =>
    new Promise((resolve, reject) => fs.fdatasync(fd, (error) => (error ? reject(error) : resolve()))),
  fchmodSync: fs.fchmodSync,
  chmodSync: fs.chmodSync,
  fchownSync: fs.fchownSync,
  lchownSync: fs.lchownSync,
  utimesSync: fs.utimesSync,
  futimesSync: fs.futimesSync,
  lutimesSync: fs.lutimesSync,
  /** Both times to the nanosecond; where system calls are missing, to about a microsecond. A link is not followed. */
  utimesNsSync,
  mknodSync: (path: string | Buffer, mode: number, device = 0): void => native()?.mknodat(AT_FDCWD, path, mode, device),
  lsetxattrSync: (path: string | Buffer, name: string, value: Uint8Array): void =>
    native()?.lsetxattr(path, name, value),
  lremovexattrSync: (path: string | Buffer, name: string): void => native()?.lremovexattr(path, name),
  fsetxattrSync: (fd: number, name: string, value: Uint8Array): void => native()?.fsetxattr(fd, name, value),
  fremovexattrSync: (fd: number, name: string): void => native()?.fremovexattr(fd, name),
})

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_APPEND, O_NONBLOCK } = fs.constants
const createFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
const appendFlags = O_WRONLY | O_APPEND | O_NONBLOCK
/** Linux on x64 and arm64; Node has no name for it. */
const unnamedFlags = 0o20000000 | fs.constants.O_DIRECTORY | O_WRONLY
const emptyFlags = fs.constants.O_WRONLY | fs.constants.O_TRUNC | fs.constants.O_NONBLOCK | fs.constants.O_NOCTTY

function writeAllSync(fd: number, bytes: Uint8Array, position?: number): void {
  for (let done = 0; done < bytes.length;) {
    done += fs.writeSync(fd, bytes, done, bytes.length - done, position === undefined ? null : position + done)
  }
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await writeSome(fd, bytes, done)
}

const writeSome = (fd: number, bytes: Uint8Array, from: number): Promise<number> =>
  new Promise((resolve, reject) =>
    fs.write(fd, bytes, from, bytes.length - from, null, (error, count) => (error ? reject(error) : resolve(count))),
  )

/**
 * Throws EEXIST if something is at `to`. One atomic call where system calls are available and the file system knows the
 * flag. Elsewhere a file or link is linked to its new name, then unlinked from the old: also never a replacement, but a
 * crash in between leaves both names. A directory cannot be linked: it is looked at first, then renamed, and as
 * rename(2) replaces nothing but an empty directory by a directory, an empty directory made at `to` in that instant is
 * the most that can be lost.
 */
function renameNoReplaceSync(from: string | Buffer, to: string | Buffer): void {
  const calls = native()
  if (!calls) {
    renameByHand(from, to)
    return
  }
  try {
    calls.renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME.NOREPLACE)
  } catch (error) {
    // EINVAL is also "a directory into itself"; renaming by hand then says so again.
    if (!hasCode(error, 'EINVAL', 'ENOSYS')) throw error
    renameByHand(from, to)
  }
}

function renameByHand(from: string | Buffer, to: string | Buffer): void {
  if (fs.lstatSync(from).isDirectory()) {
    renameIfAbsent(from, to)
    return
  }
  try {
    fs.linkSync(from, to)
  } catch (error) {
    if (!hasCode(error, 'EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'EMLINK')) throw error
    renameIfAbsent(from, to)
    return
  }
  fs.unlinkSync(from)
}

function renameIfAbsent(from: string | Buffer, to: string | Buffer): void {
  if (fs.lstatSync(to, { throwIfNoEntry: false })) {
    throw Object.assign(new Error('EEXIST: rename'), { code: 'EEXIST', errno: -17, syscall: 'rename' })
  }
  fs.renameSync(from, to)
}

function utimesNsSync(path: string | Buffer, atimeNs: bigint, mtimeNs: bigint): void {
  const calls = native()
  if (calls) calls.utimensat(AT_FDCWD, path, atimeNs, mtimeNs)
  else fs.lutimesSync(path, Number(atimeNs) / 1e9, Number(mtimeNs) / 1e9)
}

/** Swaps two names in one step. There is no way to do that without the system call: ENOSYS. */
function exchangeSync(one: string | Buffer, other: string | Buffer): void {
  const calls = native()
  if (!calls) throw Object.assign(new Error('ENOSYS: renameat2'), { code: 'ENOSYS', errno: -38, syscall: 'renameat2' })
  calls.renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME.EXCHANGE)
}
