import { constants } from 'node:os'
import { AwError } from '../../../../domain/errors.ts'
import { counted } from '../../../../sys/fs/crash-points.ts'
import { type Native, native, nativeHint, nativeProblem } from '../../../../sys/syscalls/native.ts'
import type { Name } from '../../../../sys/safe-fs/descriptors.ts'

/**
 * What btrfs is asked by ioctl. Descriptors are of directories that are open for reading (one that only names a
 * directory is refused by the kernel); names are the last part of a path, never a path. Failures are those of the
 * kernel.
 */

const SUBVOL_CREATE_V2 = 0x50009418
const SNAP_CREATE_V2 = 0x50009417
const SNAP_DESTROY = 0x5000940f
const SUBVOL_GETFLAGS = 0x80089419
const SUBVOL_SETFLAGS = 0x4008941a
const GET_SUBVOL_INFO = 0x81f8943c
const GET_SUBVOL_ROOTREF = 0xd000943d
const INO_LOOKUP_USER = 0xd000943e
const FS_INFO = 0x8400941f
const QGROUP_LIMIT = 0x8030942b
const SYNC = 0x9408

const READ_ONLY = 2n
const MAX_RFER = 1n
const nameMax = 255

/** The calls that change something: numbered for the crash tests. */
export const btrfs = counted({
  /** An empty subvolume. Not durable by itself. */
  create: (directory: number, name: string): void =>
    void calls().ioctl(directory, SUBVOL_CREATE_V2, volumeArguments(name)),
  /** Flushes the source, then commits the transaction: durable. On another thread, as there may be much to flush. */
  snapshot: (directory: number, name: string, source: number, options: { readOnly: boolean }): Promise<number> =>
    calls().ioctlLater(directory, SNAP_CREATE_V2, volumeArguments(name, source, options.readOnly ? READ_ONLY : 0n)),
  /** ENOTEMPTY: subvolumes are in it; EINVAL: it is none; EPERM: not for an ordinary user on this mount. */
  destroy: (directory: number, name: Name): void =>
    void calls().ioctl(directory, SNAP_DESTROY, oldVolumeArguments(name)),
  /** The same on another thread: what is remembered of each file is forgotten one by one. */
  destroyLater: (directory: number, name: Name): Promise<number> =>
    calls().ioctlLater(directory, SNAP_DESTROY, oldVolumeArguments(name)),
  setReadOnly: (fd: number, readOnly: boolean): void =>
    void calls().ioctl(fd, SUBVOL_SETFLAGS, numberArgument(readOnly ? READ_ONLY : 0n)),
  /** Holds a subvolume to so many bytes that it refers to. */
  limit(fd: number, subvolume: bigint, bytes: bigint): void {
    const argument = Buffer.alloc(48)
    for (const [i, value] of [subvolume, MAX_RFER, bytes].entries()) argument.writeBigUInt64LE(value, 8 * i)
    calls().ioctl(fd, QGROUP_LIMIT, argument)
  },
  /** Everything in the file system, and the transaction; on another thread. */
  sync: (fd: number): Promise<number> => calls().ioctlLater(fd, SYNC, Buffer.alloc(0)),
})

export interface SubvolumeInfo {
  readonly id: bigint
  /** Whose contents it had when it was made; all zeros for one that was made empty. */
  readonly parentUuid: string
  readonly uuid: string
  readonly readOnly: boolean
  /** The transaction that it was made in. */
  readonly made: bigint
  /** The last one that has changed it; of those that are committed. */
  readonly changed: bigint
}

export function subvolumeInfo(fd: number): SubvolumeInfo {
  const info = Buffer.alloc(504)
  calls().ioctl(fd, GET_SUBVOL_INFO, info)
  return {
    id: info.readBigUInt64LE(0),
    uuid: info.toString('hex', 296, 312),
    parentUuid: info.toString('hex', 312, 328),
    readOnly: (info.readBigUInt64LE(288) & 1n) === 1n,
    made: info.readBigUInt64LE(352),
    changed: info.readBigUInt64LE(280),
  }
}

export function isReadOnly(fd: number): boolean {
  const flags = Buffer.alloc(8)
  calls().ioctl(fd, SUBVOL_GETFLAGS, flags)
  return (flags.readBigUInt64LE() & READ_ONLY) !== 0n
}

/** Where subvolumes are that were made right in this one: the names on the way to each, as bytes. */
export function nestedSubvolumes(fd: number): Buffer[][] {
  const found: Buffer[][] = []
  for (let next: bigint | undefined = 0n; next !== undefined;) {
    const page = Buffer.alloc(4096)
    page.writeBigUInt64LE(next, 0)
    next = undefined
    try {
      calls().ioctl(fd, GET_SUBVOL_ROOTREF, page)
    } catch (error) {
      // There are more than fit; the page tells where to go on.
      if (!(error instanceof Error && 'errno' in error && error.errno === -constants.errno.EOVERFLOW)) throw error
      next = page.readBigUInt64LE(0)
    }
    const count = page.readUInt8(8 + 255 * 16)
    for (let i = 0; i < count; i++) {
      const [id, parent] = [page.readBigUInt64LE(8 + 16 * i), page.readBigUInt64LE(16 + 16 * i)]
      found.push(pathToSubvolume(fd, id, parent))
    }
  }
  return found
}

function pathToSubvolume(fd: number, subvolume: bigint, parent: bigint): Buffer[] {
  const answer = Buffer.alloc(4096)
  answer.writeBigUInt64LE(parent, 0)
  answer.writeBigUInt64LE(subvolume, 8)
  calls().ioctl(fd, INO_LOOKUP_USER, answer)
  const textAt = (start: number): Buffer => answer.subarray(start, answer.indexOf(0, start))
  const above = textAt(16 + nameMax + 1).toString('latin1')
  const names = above.split('/').filter(Boolean)
  return [...names.map((name) => Buffer.from(name, 'latin1')), textAt(16)]
}

/** Of the file system, as /sys names it. */
export function fileSystemId(fd: number): string {
  const info = Buffer.alloc(1024)
  calls().ioctl(fd, FS_INFO, info)
  return info.toString('hex', 16, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

export function calls(): Native {
  const loaded = native()
  if (loaded !== undefined) return loaded
  throw new AwError('unsupported', `btrfs cannot be asked for anything: ${nativeProblem() ?? ''}`, {
    hint: `${nativeHint}; or use storage.driver = "dir"`,
  })
}

function volumeArguments(name: string, source = 0, flags = 0n): Buffer {
  const argument = Buffer.alloc(4096)
  argument.writeBigInt64LE(BigInt(source), 0)
  argument.writeBigUInt64LE(flags, 16)
  argument.write(name, 56, 'utf8')
  return argument
}

function oldVolumeArguments(name: Name): Buffer {
  const argument = Buffer.alloc(4096)
  Buffer.from(name as string).copy(argument, 8)
  return argument
}

function numberArgument(value: bigint): Buffer {
  const argument = Buffer.alloc(8)
  argument.writeBigUInt64LE(value)
  return argument
}
