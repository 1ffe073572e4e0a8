import { closeSync, openSync } from 'node:fs'
import { hasQuota } from './quota.ts'
import { counted } from '../../../../sys/fs/crash-points.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { native, type Native } from '../../../../sys/syscalls/native.ts'

/** What is asked of a mounted btrfs as a whole. */

/** Makes it as large as its device is now. */
export const resizeToDevice = (root: string): void => volume.resize(root)

/** Lets the kernel hold each tree to a limit, in the way that costs a snapshot nothing; a kernel before 6.7 cannot. */
export function enableQuota(root: string): void {
  try {
    volume.quota(root)
  } catch (error) {
    if (!hasCode(error, 'ENOTTY', 'EINVAL', 'EEXIST', 'EOPNOTSUPP')) throw error
  }
}

export function canLimit(root: string): boolean {
  let found = false
  withRoot(root, (_calls, fd) => (found = hasQuota(fd)))
  return found
}

/** Errors of its device since it was made, in the order that the kernel counts them. */
export function deviceErrors(root: string): Readonly<Record<(typeof errorNames)[number], number>> {
  const stats = Buffer.alloc(1032)
  stats.writeBigUInt64LE(1n, 0)
  stats.writeBigUInt64LE(BigInt(errorNames.length), 8)
  withRoot(root, (calls, fd) => calls.ioctl(fd, request.stats, stats))
  const counts = errorNames.map((name, i) => [name, Number(stats.readBigUInt64LE(24 + 8 * i))] as const)
  return Object.fromEntries(counts) as Record<(typeof errorNames)[number], number>
}

const errorNames = ['write', 'read', 'flush', 'corruption', 'generation'] as const

const request = { resize: 0x50009403, quota: 0xc0109428, stats: 0xc4089434 } as const
const simpleQuota = 4n

const volume = counted({
  resize(root: string): void {
    const argument = Buffer.alloc(4096)
    argument.write('max', 8)
    withRoot(root, (calls, fd) => calls.ioctl(fd, request.resize, argument))
  },
  quota(root: string): void {
    const argument = Buffer.alloc(16)
    argument.writeBigUInt64LE(simpleQuota, 0)
    withRoot(root, (calls, fd) => calls.ioctl(fd, request.quota, argument))
  },
})

function withRoot(root: string, use: (calls: Native, fd: number) => unknown): void {
  const calls = native()
  if (calls === undefined) throw Object.assign(new Error('ENOTTY: ioctl'), { code: 'ENOTTY', syscall: 'ioctl' })
  const fd = openSync(root, 'r')
  try {
    use(calls, fd)
  } finally {
    closeSync(fd)
  }
}
