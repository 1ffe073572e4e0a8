import { closeSync, constants, existsSync, fstatSync, openSync, statfsSync, statSync } from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import { sizeText } from '../../../domain/space/size.ts'
import { syncDirectory } from '../../../sys/fs/directories.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { poolImage } from './record.ts'
import { at } from '../../../sys/safe-fs/descriptors.ts'

/** The sparse file that holds a pool. `home` is the directory it is in, which may be a descriptor's path. */

/** btrfs takes no less than 109 MiB, and of that keeps more for itself than it leaves to trees. */
const minBytes = 256 * 2 ** 20

/** Half of what is free, in whole GiB where there are some. */
export function defaultPoolBytes(home: string): number {
  const half = freeIn(home) / 2
  const unit = half >= 2 ** 30 ? 2 ** 30 : 2 ** 20
  return Math.floor(half / unit) * unit
}

/** A sparse file promises more than it holds; it must not promise more than there is. */
export function assertPoolSize(home: string, bytes: number): void {
  if (bytes < minBytes)
    throw new AwError('invalid_input', `A pool of ${sizeText(bytes)} is too small for btrfs`, {
      hint: `Give it at least ${sizeText(minBytes)} with --size`,
      data: { bytes, least: minBytes },
    })
  const room = freeIn(home) + imageUsage(home)
  if (bytes <= room) return
  throw new AwError('disk_full', `There is room for a pool of ${sizeText(room)} at most, not ${sizeText(bytes)}`, {
    hint: 'Choose a smaller --size, or make room on the disk of the home',
    data: { bytes, room },
  })
}

export function freeIn(home: string): number {
  const { bavail, bsize } = statfsSync(home)
  return bavail * bsize
}

export const hasImage = (home: string): boolean => existsSync(poolImage(home))

/** What the image takes up on the disk of the home. */
export const imageUsage = (home: string): number =>
  (statSync(poolImage(home), { throwIfNoEntry: false })?.blocks ?? 0) * 512

export interface OpenImage extends Disposable {
  readonly fd: number
}

/** Made anew, so that nobody else has it open. */
export function makeImage(home: string, bytes: number): OpenImage {
  const fd = hostFs.createSync(poolImage(home), 0o600)
  try {
    hostFs.ftruncateSync(fd, bytes)
    hostFs.fsyncSync(fd)
    syncDirectory(home)
    // The device is written and read through the descriptor that it is given.
    const both = openSync(at(fd), constants.O_RDWR)
    return { fd: both, [Symbol.dispose]: () => closeSync(both) }
  } finally {
    closeSync(fd)
  }
}

/** In the home of another user there may be anything under the name: only what root has made is taken for a disk. */
export function openImage(home: string): OpenImage | undefined {
  try {
    const { O_RDWR, O_NOFOLLOW, O_NONBLOCK } = constants
    const fd = openSync(poolImage(home), O_RDWR | O_NOFOLLOW | O_NONBLOCK)
    const { uid, mode, nlink } = fstatSync(fd)
    if (uid === 0 && (mode & 0o170077) === 0o100000 && nlink === 1) return { fd, [Symbol.dispose]: () => closeSync(fd) }
    closeSync(fd)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    if (!hasCode(error, 'ELOOP', 'EISDIR', 'ENXIO')) throw error
  }
  throw new AwError('storage_unavailable', 'pool.img in the home is not the image that root has made', {
    hint: 'Put the right file back: a plain one that belongs to root, with mode 600',
  })
}
