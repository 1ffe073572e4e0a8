import { closeSync, fstatSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { enableQuota, resizeToDevice } from '../btrfs/kernel/device.ts'
import { syncFileSystem } from '../../../sys/fs/mounts.ts'
import { durableFile } from '../../../sys/fs/durable-file.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { attachLoop, detachLoop, growLoop, holdLoop, loopsOf } from './loop.ts'
import { mountBtrfs, mountedAt, unmount } from './mount.ts'
import { hasImage, makeImage, openImage } from './image.ts'
import { dropPool, poolImage, readPool, writePool } from './record.ts'
import { findSystemProgram, run } from '../../../sys/processes/run.ts'
import { at, directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { unmountedNote } from '../root/root.ts'

/**
 * A btrfs in a sparse file of the home, mounted at the storage root: constant time on a machine without a btrfs of its
 * own. Only root can make, mount, grow and remove one, also for the home of another user, whose pool it then is. The
 * caller holds the home's lock. Every step can be the last one: `clearPool` removes whatever is there, `mountPool`
 * completes it.
 */
export interface PoolLocation {
  /** The home as people know it. */
  readonly home: string
  /** The same as a directory to work in: in another user's home, names on the way may change under us. */
  readonly inside: string
  /** The storage root, where the pool is mounted. It exists. */
  readonly root: string
  readonly owner: { readonly uid: number; readonly gid: number }
}

/** Makes, mounts and records a pool. On failure nothing is left. */
export async function makePool(place: PoolLocation, bytes: number): Promise<void> {
  const mkfs = assertTools()
  if (readPool(place.inside) === undefined) assertNoImage(place)
  try {
    writePool(place.inside, { version: 1, state: 'making', bytes })
    using image = makeImage(place.inside, bytes)
    using held = attachLoop(image.fd)
    const { device } = held
    await run(mkfs, ['--quiet', '--nodiscard', '--label', 'aw', device], { cwd: '/', env, timeoutMs: 300_000 })
    withMountPoint(place, leaveNote(place))
    mountOn(device, place, (root) => {
      hostFs.lchownSync(root, place.owner.uid, place.owner.gid)
      hostFs.chmodSync(root, 0o700)
      enableQuota(root)
      syncFileSystem(root)
    })
    writePool(place.inside, { version: 1, state: 'ready', bytes })
  } catch (error) {
    undo(place)
    throw error
  }
}

/** What cannot be undone is undone by the next attempt: the record is still there and says that it must be. */
function undo(place: PoolLocation): void {
  try {
    clearPool(place)
  } catch (error) {
    if (!(error instanceof AwError)) throw error
  }
}

/** Mounts a pool that was made to the end, as after a reboot. Mounted = done, and so is a home without a pool. */
export function mountPool(place: PoolLocation): void {
  const record = readPool(place.inside)
  if (record === undefined) return
  if (record.state === 'making') throw interrupted(record.state)
  using image = openImage(place.inside)
  if (image === undefined) throw imageGone(place)
  if (isMounted(place, image.fd)) return
  using held = holdLoop(image.fd)
  try {
    mountOn(held.device, place, () => undefined)
  } catch (error) {
    if (error instanceof AwError) throw error
    const file = poolImage(place.home)
    throw new AwError('storage_unavailable', `The pool ${file} cannot be mounted: ${messageOf(error)}`, {
      hint: `See what the kernel says with: dmesg | tail; and: btrfs check --readonly ${file}`,
      data: { image: file },
      cause: error,
    })
  }
}

/** Enlarges a mounted pool while it is used. */
export function growPool(place: PoolLocation, bytes: number): void {
  using image = openImage(place.inside)
  if (image === undefined) throw imageGone(place)
  if (fstatSync(image.fd).size < bytes) hostFs.ftruncateSync(image.fd, bytes)
  hostFs.fsyncSync(image.fd)
  for (const device of loopsOf(image.fd)) growLoop(device)
  resizeToDevice(place.root)
  writePool(place.inside, { version: 1, state: 'ready', bytes })
}

/** Removes a pool with everything in it, or what a crash has left of one. Absent = done. */
export function clearPool(place: PoolLocation): void {
  {
    using image = openImage(place.inside)
    if (image !== undefined) {
      while (isMounted(place, image.fd)) unmount(place.root)
      for (const device of loopsOf(image.fd)) detachLoop(device)
      durableFile.remove(poolImage(place.inside))
    }
  }
  // What else may be mounted there now is not ours.
  if (mountedAt(place.root) === undefined) withMountPoint(place, removeNote)
  dropPool(place.inside)
}

/** Whether what is mounted at the storage root is this home's image. */
function isMounted({ root }: PoolLocation, image: number): boolean {
  const mounted = mountedAt(root)
  return mounted?.type === 'btrfs' && loopsOf(image).includes(mounted.source)
}

// -- the mount point -------------------------------------------------------------------------------------------------

function mountOn(device: string, place: PoolLocation, prepare: (root: string) => void): void {
  withMountPoint(place, (_path, fd) => mountBtrfs(device, fd, prepare))
}

/** Nothing is written below a mount point by accident, and who looks there learns what is missing. */
const leaveNote =
  ({ home, owner }: PoolLocation) =>
  (root: string): void => {
    const file = join(root, unmountedNote)
    durableFile.remove(file)
    const fd = hostFs.createSync(file, 0o644)
    try {
      hostFs.writeSync(fd, Buffer.from(`${mountHint(home)}\n`))
      hostFs.fchownSync(fd, owner.uid, owner.gid)
      hostFs.fsyncSync(fd)
    } finally {
      closeSync(fd)
    }
    hostFs.chmodSync(root, 0o500)
  }

function removeNote(root: string): void {
  durableFile.remove(join(root, unmountedNote))
  hostFs.chmodSync(root, 0o700)
}

export const mountHint = (home: string): string =>
  `Let root mount the pool again: aw init --storage btrfs --home ${home}`

/** By a descriptor, and only if it belongs to the owner of the home: root must not mount over anything else. */
function withMountPoint({ root, owner }: PoolLocation, use: (path: string, fd: number) => void): void {
  const fd = openSync(root, directoryFlags)
  try {
    if (fstatSync(fd).uid !== owner.uid)
      throw new AwError('home_owner_mismatch', `The storage root ${root} does not belong to the owner of the home`, {
        hint: `Give it to him: chown ${owner.uid} ${root}`,
        data: { root, owner: owner.uid },
      })
    use(at(fd), fd)
  } finally {
    closeSync(fd)
  }
}

// -- what may go wrong -----------------------------------------------------------------------------------------------

/** Of the programs that root runs. */
export const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Where the program is that makes a btrfs. */
export function assertTools(): string {
  const mkfs = findSystemProgram('mkfs.btrfs')
  if (mkfs === undefined) throw missingTools('mkfs.btrfs')
  return mkfs
}

export const missingTools = (program: string): AwError =>
  new AwError('unsupported', `${program} is not installed`, {
    hint: 'Install the package btrfs-progs and try again',
    data: { program, package: 'btrfs-progs' },
  })

export const interrupted = (state: 'making' | 'removing'): AwError =>
  new AwError(
    'storage_unavailable',
    `The pool of this home was not ${state === 'making' ? 'made' : 'removed'} to the end`,
    {
      hint: state === 'making' ? 'Run aw init again, or aw deinit --yes' : 'Run aw deinit --yes again',
      data: { state },
    },
  )

/** Without a record of it, it is not ours. */
function assertNoImage({ inside, home }: PoolLocation): void {
  if (!hasImage(inside)) return
  throw new AwError('file_exists', `There is already a file ${poolImage(home)}, and no record of it`, {
    hint: 'Move it away and try again',
    data: { image: poolImage(home) },
  })
}

const imageGone = ({ home }: { home: string }): AwError =>
  new AwError('storage_unavailable', `The image ${poolImage(home)} of the pool is gone`, {
    hint: 'Put it back from a copy; nothing else of the home was changed',
    data: { image: poolImage(home) },
  })
