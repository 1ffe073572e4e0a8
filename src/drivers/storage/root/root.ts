import { closeSync, fstatSync, lstatSync, openSync, readdirSync, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { Free, Probe } from '../../../ports/storage-driver.ts'
import { durableFile, readIfPresent } from '../../../sys/fs/durable-file.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { assertOwned, ensureDirectory, syncDirectoryAsync } from '../../../sys/fs/directories.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { native } from '../../../sys/syscalls/native.ts'
import { liveness, ownProcess } from '../../../sys/processes/process.ts'
import { at, directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { claimed, driverPrefix, markClaimMade } from './claim.ts'
import { syncFiles } from '../../../sys/trees/sync.ts'

/** A storage root: one directory on one mount, with an area for each kind of tree and a marker that says whose it is. */

const marker = '.aw-storage'
const unfinishedMarker = `${marker}.new`

/**
 * Absent = made, once, for the driver that the home has claimed it for. `claim` is a file of the home with the key that
 * the marker must hold (see storage-claim.ts). Once the root was made, a root without its marker is one that is not
 * mounted, and is not made anew over the mount point; and a root with another key belongs to another home, whose
 * unfinished trees would look like leftovers. Answers with the key.
 */
export function initRoot(root: string, areas: readonly string[], claim: string): string {
  assertOwned(root, 'storage root')
  const { key, driver = 'dir', made } = claimed(claim)
  const found = readMarker(root)
  if (found === undefined && made) return key
  if (found === undefined) {
    ensureDirectory(root, 0o700)
    // Written first, so that whoever gives up a root that was begun knows what is in it.
    durableFile.remove(join(root, unfinishedMarker))
    durableFile.append(join(root, unfinishedMarker), markerText({ key, driver, holds: areas }))
    for (const area of areas) ensureDirectory(join(root, area), 0o700)
    durableFile.rename(join(root, unfinishedMarker), join(root, marker))
  }
  const now = found ?? readMarker(root)
  if (now?.key !== key) throw foreign(root)
  if (now.driver !== driver) throw otherDriver(root, now.driver, driver)
  if (!made) markClaimMade(claim)
  return key
}

interface Marker {
  readonly key: string
  readonly driver: string
  /** The directories that were made with the root. */
  readonly holds: readonly string[]
}

const holdsPrefix = 'holds '

const markerText = ({ key, driver, holds }: Marker): string =>
  `${key}\n${driverPrefix}${driver}\n${holdsPrefix}${holds.join(' ')}\n`

/** A root from before drivers were written down was made by `dir`. */
export function readMarker(root: string, file = marker): Marker | undefined {
  const lines = readIfPresent(join(root, file))?.trim().split('\n')
  if (lines === undefined) return undefined
  const after = (prefix: string): string | undefined =>
    lines.find((line) => line.startsWith(prefix))?.slice(prefix.length)
  return { key: lines[0] ?? '', driver: after(driverPrefix) ?? 'dir', holds: after(holdsPrefix)?.split(' ') ?? [] }
}

/** The root is nobody's any more: nothing is done in it, also by those who have it open. */
export function dropMarker(root: string): void {
  for (const file of [unfinishedMarker, marker]) durableFile.remove(join(root, file))
}

/** The directories that were made with the root, or were to be made when it was begun. */
export const rootDirectories = (root: string): readonly string[] =>
  (readMarker(root) ?? readMarker(root, unfinishedMarker))?.holds ?? []

const foreign = (root: string): AwError =>
  new AwError('storage_unavailable', `The storage root ${root} belongs to another home`, {
    hint: 'Give each home a storage.root of its own, or mount the right one there',
    data: { root },
  })

const otherDriver = (root: string, found: string, wanted: string): AwError =>
  new AwError('storage_unavailable', `The storage root ${root} was made by the driver ${found}, not by ${wanted}`, {
    hint: 'Mount the right one there, or give this home a storage.root of its own',
    data: { root, driver: found },
  })

/** An unmounted root looks like an empty one, and another may be mounted there: nothing may be concluded from either. */
export function assertRoot(root: string, key: string): void {
  const looks = markerStamp(join(root, marker))
  if (looks !== undefined && looks === verifiedMarkers.get(`${root} ${key}`)) return
  const found = readMarker(root)
  if (found?.key === key) {
    if (looks !== undefined) verifiedMarkers.set(`${root} ${key}`, looks)
    return
  }
  if (found !== undefined) throw foreign(root)
  throw new AwError('storage_unavailable', `The storage root ${root} is missing or not mounted`, {
    hint:
      readIfPresent(join(root, unmountedNote))?.trim() ??
      'Mount it again, nothing was changed; if it is gone for good, remove storage.id from the home',
    data: { root },
  })
}

/** The markers that were found right. One that looks the same is the same: nobody can set the time of its last change. */
const verifiedMarkers = new Map<string, string>()

function markerStamp(path: string): string | undefined {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.dev} ${stat.ino} ${stat.ctimeNs}`
}

/** A file below a mount point: seen only when nothing is mounted there, it says what to do. */
export const unmountedNote = '.aw-unmounted'

/** @param owner as user and group, if not this process's */
export function makeTree(path: string, mode: number, owner?: number): void {
  try {
    hostFs.mkdirSync(path, mode)
    if (owner !== undefined) hostFs.lchownSync(path, owner, owner)
    // The process's umask may have taken bits away.
    hostFs.chmodSync(path, mode)
  } catch (error) {
    throw hasCode(error, 'EEXIST') ? taken(path) : error
  }
}

interface Moving {
  /** Nobody else can make a tree at the new place, whose name is an id's. */
  readonly alone?: boolean | undefined
  /** It is not waited for until it is durable. */
  readonly later?: boolean | undefined
}

/** False if there is nothing at `from`. */
export async function moveTree(from: string, to: string, { alone, later = false }: Moving = {}): Promise<boolean> {
  try {
    renameTree(from, to, alone)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw hasCode(error, 'EEXIST', 'ENOTEMPTY') ? taken(to) : error
  }
  if (later) return true
  await syncDirectoryAsync(dirname(to))
  await syncDirectoryAsync(dirname(from))
  return true
}

/** The same, durable with whatever makes both directories so; errors are the kernel's. */
export function renameTree(from: string, to: string, alone = false): void {
  const rename = alone ? hostFs.renameToFreeSync : hostFs.renameNoReplaceSync
  withWritePermission(from, () => rename(from, to))
}

/**
 * A directory that gets another parent is written to, and an agent may have made its own read-only. It is made writable
 * for the moment of the move, by a descriptor: its name is another afterwards.
 */
function withWritePermission(path: string, move: () => void): void {
  try {
    move()
    return
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error
  }
  const fd = openSync(path, directoryFlags)
  try {
    const mode = fstatSync(fd).mode & 0o7777
    hostFs.chmodSync(at(fd), mode | 0o700)
    try {
      move()
    } finally {
      hostFs.chmodSync(at(fd), mode)
    }
  } finally {
    closeSync(fd)
  }
}

const taken = (path: string): AwError =>
  new AwError('file_exists', `There is already a tree at ${path}`, { hint: 'Run: aw recover', data: { path } })

/** Everything in the file system of the tree, where the system call is there; file by file elsewhere. */
export async function syncTree(path: string): Promise<void> {
  const calls = native()
  if (calls === undefined) return syncFiles(path)
  // Any descriptor of the file system will do; the tree itself may be one that its owner may not read.
  const fd = openSync(dirname(path), 'r')
  try {
    calls.syncfs(fd)
  } finally {
    closeSync(fd)
  }
}

export const treeExists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

export const fileExists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false

export function listAreas(root: string, areas: readonly string[]): { area: string; name: string }[] {
  return areas.flatMap((area) =>
    readdirSync(join(root, area))
      .toSorted()
      .map((name) => ({ area, name })),
  )
}

/** Of what a file system keeps for root alone nothing counts. */
export function freeIn(root: string): Free {
  const { blocks, bfree, bavail, bsize, files, ffree } = statfsSync(root)
  return {
    bytes: bavail * bsize,
    total: (blocks - bfree + bavail) * bsize,
    files: files === 0 ? null : { free: ffree, total: files },
  }
}

/** Makes, renames and removes a tree in the root, and says what copies will cost. */
export async function probeRoot(root: string, key: string): Promise<Probe> {
  const { pid, start_time, pid_namespace } = ownProcess()
  const one = join(root, 'tmp', `probe-${pid}-${start_time}-${pid_namespace.replaceAll(/\D/g, '')}`)
  try {
    assertRoot(root, key)
    removeOldProbes(join(root, 'tmp'))
    makeTree(one, 0o700)
    await moveTree(one, `${one}-moved`)
    hostFs.rmdirSync(`${one}-moved`)
    return {
      usable: true,
      notes: [`trees are plain directories; a copy of a folder costs as much as the folder is large`],
    }
  } catch (error) {
    return { usable: false, reasons: [error instanceof Error ? error.message : String(error)] }
  }
}

/** Of processes that died while they tried it. */
function removeOldProbes(directory: string): void {
  for (const name of readdirSync(directory)) {
    const [, pid, start_time = '', namespace] = /^probe-(\d+)-(\d+)-(\d+)(?:-moved)?$/.exec(name) ?? []
    if (pid === undefined) continue
    const owner = { ...ownProcess(), pid: Number(pid), start_time, pid_namespace: `pid:[${namespace}]` }
    if (liveness(owner) === 'dead') unlessGone(() => hostFs.rmdirSync(join(directory, name)))
  }
}

function unlessGone(remove: () => void): void {
  try {
    remove()
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}
