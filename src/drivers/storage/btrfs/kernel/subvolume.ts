import * as fs from 'node:fs'
import { basename, dirname } from 'node:path'
import { AwError } from '../../../../domain/errors.ts'
import { btrfs, nestedSubvolumes, subvolumeInfo, type SubvolumeInfo } from './ioctls.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { at, directoryFlags, type Name, namingFlags, readFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { removeTree } from '../../../../sys/safe-fs/index.ts'
import { openFrom } from '../../../../sys/safe-fs/directory-stack.ts'
import { unlock } from '../../../../sys/trees/unlock.ts'

/**
 * Trees that are subvolumes, by path. The directory that holds one is ours; what is in it is not, and is reached by
 * descriptors.
 */

/**
 * The kernel wants a directory that is open for reading. An owner who forbade that himself could be helped while the
 * tree is writable, but not once it is frozen: so he is told at once.
 */
function openSubvolume(path: string): number {
  try {
    return fs.openSync(path, readFlags | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW)
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error
    throw new AwError('permission_denied', 'The top directory of the tree may not be read by its owner', {
      hint: 'Allow it: chmod u+r on the top directory of the workspace',
      data: { path },
      cause: error,
    })
  }
}

/** For an instant, in a tree that is on its way out. */
function openToAsk(named: number): number {
  using _ = unlock(named, 0o400)
  return fs.openSync(at(named), readFlags | fs.constants.O_DIRECTORY)
}

export function withSubvolume<T>(path: string, use: (fd: number) => T): T {
  const fd = openSubvolume(path)
  try {
    return use(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** The same for longer than one call. */
export function holdSubvolume(path: string): Disposable & { readonly fd: number } {
  const fd = openSubvolume(path)
  return { fd, [Symbol.dispose]: () => fs.closeSync(fd) }
}

export const infoAt = (path: string): SubvolumeInfo => withSubvolume(path, subvolumeInfo)

export const makeSubvolume = (path: string): void =>
  withSubvolume(dirname(path), (parent) => btrfs.create(parent, basename(path)))

/** Durable when it resolves. EEXIST if the name is taken. */
export async function snapshotSubvolume(source: string, path: string, options: { readOnly: boolean }): Promise<void> {
  using from = holdSubvolume(source)
  using parent = holdSubvolume(dirname(path))
  await btrfs.snapshot(parent.fd, basename(path), from.fd, options)
}

/** Two trees change places in one step; durable with the next commit. A tree that is not writable is for an instant. */
export function exchangeSubvolumes(one: string, other: string): void {
  const fds = [one, other].map((path) => fs.openSync(path, directoryFlags))
  const unlocked = fds.map((fd) => unlock(fd, 0o200))
  try {
    hostFs.exchangeSync(one, other)
  } finally {
    for (const again of unlocked) again?.[Symbol.dispose]()
    for (const fd of fds) fs.closeSync(fd)
  }
}

/** The whole transaction, with all that was written in the file system. */
export async function commit(path: string): Promise<void> {
  using parent = holdSubvolume(dirname(path))
  await btrfs.sync(parent.fd)
}

/** The last transaction that has changed a tree, with all that was written to it so far. */
export async function lastChange(path: string): Promise<bigint> {
  await commit(path)
  return infoAt(path).changed
}

/**
 * Removes a subvolume at once, with the subvolumes that were made in it. False if that cannot be: the kernel refuses it
 * to an ordinary user, or it is a plain directory. Absent = done.
 */
export const destroySubvolume = (path: string): boolean =>
  withSubvolume(dirname(path), (parent) => destroy(parent, basename(path)) === 'gone')

/** The same, and where it cannot be, file by file. Takes long for a tree of which the kernel remembers many files. */
export async function removeSubvolume(path: string, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
  if ((await destroyLater(path)) || destroySubvolume(path)) return
  await removeTree(dirname(path), basename(path), options)
}

async function destroyLater(path: string): Promise<boolean> {
  using parent = holdSubvolume(dirname(path))
  return await btrfs.destroyLater(parent.fd, basename(path)).then(
    () => true,
    () => false,
  )
}

type Outcome = 'gone' | 'refused'

/** `refused`: it stays, but nothing in it is read-only any more. */
function destroy(parent: number, name: Name): Outcome {
  const first = attempt(parent, name)
  if (first !== 'refused') return first
  const fd = openIfSubvolume(parent, name)
  if (fd === undefined) return 'refused'
  try {
    if (subvolumeInfo(fd).readOnly) btrfs.setReadOnly(fd, false)
    for (const way of nestedSubvolumes(fd)) destroyBelow(fd, way)
  } finally {
    fs.closeSync(fd)
  }
  return attempt(parent, name)
}

function attempt(parent: number, name: Name): Outcome {
  try {
    btrfs.destroy(parent, name)
    return 'gone'
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return 'gone'
    if (hasCode(error, 'EPERM', 'EACCES', 'EROFS', 'EINVAL', 'ENOTDIR', 'ENOTEMPTY')) return 'refused'
    throw error
  }
}

/** One that was moved or removed meanwhile is met again, or is not there: the walk that follows sees what is. */
function destroyBelow(top: number, way: readonly Buffer[]): void {
  let directory = top
  try {
    directory = openFrom(top, way.slice(0, -1))
    const asked = openToAsk(directory)
    try {
      destroy(asked, way.at(-1) ?? '')
    } finally {
      fs.closeSync(asked)
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) throw error
  } finally {
    if (directory !== top) fs.closeSync(directory)
  }
}

/** Undefined for a plain directory, and for what is none. */
function openIfSubvolume(parent: number, name: Name): number | undefined {
  const named = fs.openSync(at(parent, name), namingFlags)
  try {
    const stat = fs.fstatSync(named, { bigint: true })
    return stat.isDirectory() && stat.ino === rootInode ? openToAsk(named) : undefined
  } finally {
    fs.closeSync(named)
  }
}

const rootInode = 256n
