import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { AwError } from '../../../../domain/errors.ts'
import type { Place } from '../../../../ports/storage-driver.ts'
import { ensureDirectory, syncDirectory } from '../../../../sys/fs/directories.ts'
import { hasCode, ignoreErrors } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import {
  cloneMount,
  findMounts,
  type ForeignMount,
  isInUse,
  isMounted,
  type Mounted,
  mounts,
  mountsOf,
  syncFileSystemAsync,
} from '../../../../sys/fs/mounts.ts'
import { isMountedOnce } from './mounted-once.ts'
import { areStaleCopies, unmountStaleCopies } from './stale-mounts.ts'
import { joinLinks } from './links.ts'
import { filesOf, layersOf, lowerStack, upperStack, workOf } from './layers.ts'
import type { Stack } from './records.ts'
import { directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { sealing } from './sealed-directory.ts'

/**
 * Where a tree is seen: a directory that nobody may enter and nobody can write to, with an overlay mounted on it. A
 * process that was killed leaves its mounts, a reboot takes them all; the record of a tree says what is to be mounted,
 * and the rest follows. Who writes by path while nothing is mounted gets an error: what is written there would be lost.
 */

/** Mounts a tree; nothing to do if it is. Only for who holds the lock of the records. */
export function mountTree(root: string, path: string, stack: Stack): void {
  if (isTreeMounted(path)) return
  const fd = openTree(root, path, stack)
  try {
    attachTree(fd, path)
  } finally {
    fs.closeSync(fd)
  }
}

/** Whether a tree is mounted at its place. */
export const isTreeMounted = (path: string): boolean => isMounted(path, dirname(path))

/** What is mounted at a place, held by a descriptor; undefined if nothing is. */
export function openMounted(path: string): number | undefined {
  const fd = ignoreErrors(['ENOENT'], () => fs.openSync(path, directoryFlags))
  if (fd === undefined || fs.fstatSync(fd).dev !== fs.lstatSync(dirname(path)).dev) return fd
  fs.closeSync(fd)
  return undefined
}

/** The place is free: what is found there was left by a process that was killed. */
export function attachTree(fd: number, path: string): void {
  if (fs.lstatSync(path, { throwIfNoEntry: false }) !== undefined) clearMountPoint(path)
  hostFs.mkdirSync(path, 0)
  sealing.seal(path)
  mounts.attach(fd, path)
}

function openTree(root: string, path: string, stack: Stack): number {
  try {
    return mounts.overlay(upperStack(root, stack))
  } catch (error) {
    if (!isInUse(error)) throw error
    return adoptMovedMount(filesOf(root, stack[0] ?? ''), path, error)
  }
}

/** It was being moved when the process was killed, and is still mounted where it was before. */
function adoptMovedMount(upper: string, path: string, cause: unknown): number {
  const { own, others } = findMounts((mount) => mount.upper === upper)
  const before = own.find((other) => other !== path)
  if (before === undefined) throw mountedElsewhere(path, others, cause)
  const fd = cloneMount(before)
  mounts.detach(before)
  return fd
}

/** Other namespaces are not ours to unmount in: somebody may be at work there. */
function mountedElsewhere(path: string, others: readonly ForeignMount[], cause: unknown): AwError {
  const [one] = others
  const where = one === undefined ? 'elsewhere' : `in another mount namespace, that of process ${one.process}`
  return new AwError('workspace_active', `The tree ${path} cannot be mounted here: it is mounted ${where}`, {
    hint:
      one === undefined
        ? 'End the processes that use it (a sandbox of an earlier run, say), and try again'
        : `Run aw there: nsenter --mount=/proc/${one.process}/ns/mnt aw …; or end process ${one.process}`,
    data: { path, elsewhere: others.map(({ process, namespace, path }) => ({ process, namespace, path })) },
    cause,
  })
}

/**
 * Takes a mount away and its directory with it. Whoever still has files open there, or works there, keeps seeing the
 * tree, also when it is removed from under them: the tree was destroyed, and that is what they were asked to expect.
 */
export function clearMountPoint(path: string): void {
  while (isTreeMounted(path)) mounts.detach(path)
  sealing.unseal(path)
  try {
    hostFs.rmdirSync(path)
  } catch (error) {
    if (hasCode(error, 'ENOTEMPTY', 'EEXIST', 'ENOTDIR')) setAside(path)
    else if (!hasCode(error, 'ENOENT')) throw error
  }
}

/** What somebody put where a tree is to be mounted, while it was not: it is theirs, and kept. */
function setAside(path: string): void {
  const directory = foundOf(dirname(dirname(path)))
  ensureDirectory(directory, 0o700)
  for (let n = 1; ; n++) {
    const to = join(directory, `${basename(path)}.${n}`)
    try {
      hostFs.renameNoReplaceSync(path, to)
    } catch (error) {
      if (hasCode(error, 'EEXIST')) continue
      throw error
    }
    for (const changed of [directory, dirname(directory), dirname(path)]) syncDirectory(changed)
    return
  }
}

const foundOf = (root: string): string => join(root, 'found')

/** What was put aside. */
export const listSetAside = (root: string): Place[] =>
  fs.existsSync(foundOf(root))
    ? fs
        .readdirSync(foundOf(root))
        .toSorted()
        .map((name) => ({ area: 'found', name }))
    : []

/** Moves what is mounted, with all who are in it; nothing if it is not. */
export function moveMount(from: string, to: string): boolean {
  if (!isTreeMounted(from)) return false
  const fd = cloneMount(from)
  try {
    attachTree(fd, to)
  } finally {
    fs.closeSync(fd)
  }
  clearMountPoint(from)
  return true
}

/**
 * Clears mount points that killed processes left behind. The caller holds the lock of the records alone. One that cannot
 * be removed gets a warning and is left to the next sweep. Whatever else is in the directory is somebody else's, and stays.
 */
export function sweepMountPoints(root: string, area: string, known: ReadonlySet<string>): void {
  for (const name of fs.readdirSync(join(root, area))) {
    const path = join(root, area, name)
    if (known.has(name) || !isOwnMountPoint(root, path)) continue
    try {
      clearMountPoint(path)
    } catch (error) {
      process.emitWarning(`${path} was left behind and cannot be removed: ${String(error)}`)
    }
  }
}

/** One of our layers is mounted on it, or it is as `attachTree` makes them: a directory without a mode. */
function isOwnMountPoint(root: string, path: string): boolean {
  const isOurs = ({ path: at, upper = '' }: Mounted): boolean => at === path && upper.startsWith(`${layersOf(root)}/`)
  if (isTreeMounted(path)) return (mountsOf('self') ?? []).some(isOurs)
  const found = fs.lstatSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.isDirectory() && (found.mode & 0o7777) === 0 && found.uid === process.getuid?.()
}

/**
 * Unmounts a tree that nobody uses, so that its upper layer can be frozen. False, and it stays mounted, if somebody
 * does: a process has a file open in it or works there, or it is mounted once more, in a sandbox say. A process with a
 * namespace of its own has copies of all mounts; those that neither go with ours nor are a sandbox's of another tree count
 * as in use. Those who have mounted it in a namespace that no process is in are only found when the layer is mounted the
 * next time.
 */
export async function unmountIfIdle(root: string, path: string, stack: Stack): Promise<boolean> {
  // Unmounting waits for all that is not on the disk yet, and nobody finds the tree meanwhile: most of it goes before.
  await syncFileSystemAsync(root)
  joinLinks(workOf(root, stack[0] ?? ''), path)
  const device = deviceOf(path)
  if (!isOurs(device)) {
    await unmountStaleCopies(path, (mount) => mount.device === device)
    if (!isOurs(device)) return false
  }
  try {
    mounts.unmount(path)
    return true
  } catch (error) {
    if (isInUse(error)) return false
    throw error
  }
}

/** Whether what is mounted elsewhere goes with what is mounted here. */
function isOurs(device: string): boolean {
  if (isMountedOnce(device)) return true
  const { own, others } = findMounts((mount) => mount.device === device)
  return own.length <= 1 && others.every(({ follows }) => follows)
}

/**
 * That nobody uses a mounted tree: the kernel counts who has something open in it, or works there. False if somebody
 * does, or may: who has it by another mount is not counted here. It may be unmounted afterwards.
 */
export function isIdle(path: string): boolean {
  if (!isTreeMounted(path)) return false
  if (!isMountedOnce(deviceOf(path))) return false
  try {
    mounts.expire(path)
    return true
  } catch (error) {
    if (hasCode(error, 'EAGAIN')) return true
    // It is in use, or was just unmounted.
    if (isInUse(error) || hasCode(error, 'EINVAL')) return false
    throw error
  }
}

/**
 * Whether only sandboxes of other trees have copies of one, by its upper layer: those that can be are unmounted, and the
 * rest goes by itself. True as well if nobody is seen who has it: then the kernel is about to let go of it.
 */
export async function isOnlyStaleCopies(upper: string, path: string): Promise<boolean> {
  await unmountStaleCopies(path, (mount) => mount.upper === upper)
  return areStaleCopies(path, foreignMountsOf(upper))
}

/** Who has a tree mounted in a namespace of their own, by its upper layer. */
export const foreignMountsOf = (upper: string): ForeignMount[] =>
  findMounts((mount) => mount.upper === upper).others.filter(({ follows }) => !follows)

/** As the kernel writes it in its list of mounts. */
function deviceOf(path: string): string {
  const { dev } = fs.lstatSync(path, { bigint: true })
  const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n)
  const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n)
  return `${major}:${minor}`
}

/**
 * That nobody has mounted a tree that we have unmounted: the kernel says so by mounting it. The descriptor is the
 * caller's to close, which makes all that was written until then durable. Undefined if somebody has.
 */
export function mountExclusively(root: string, stack: Stack): number | undefined {
  try {
    return mounts.overlay(upperStack(root, stack))
  } catch (error) {
    if (isInUse(error)) return undefined
    throw error
  }
}

/** Shows a tree that does not change; the descriptor is the caller's to close. */
export const openFrozen = (root: string, stack: Stack): number => mounts.overlay(lowerStack(root, stack))

/** Shows a tree that is mounted nowhere and may be mounted again later, as it would be then. */
export const openUnmounted = (root: string, stack: Stack): number => mounts.overlay(upperStack(root, stack))

export const closeMount = (fd: number): void => fs.closeSync(fd)
