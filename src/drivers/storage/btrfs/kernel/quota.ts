import { readFileSync } from 'node:fs'
import { btrfs, fileSystemId, subvolumeInfo } from './ioctls.ts'
import { ITEM, searchTree, TREE } from './search.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'

/**
 * Limits on subvolumes. The kernel counts what a subvolume refers to: with simple quotas the blocks that were written in
 * it, with the older kind everything that it holds, its parent's too. A limit is what is counted now and the bytes given,
 * so that in both it is what may be added. Only root may set one.
 */

/** Whether the kernel counts here. Looked at each time: it can be switched on and off. */
export function hasQuota(fd: number): boolean {
  try {
    return readFileSync(`/sys/fs/btrfs/${fileSystemId(fd)}/qgroups/enabled`, 'utf8').trim() === '1'
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
}

/**
 * Null lifts the limit; less than 0 is less than it has.
 * @param by another subvolume of the file system: one at its limit may not even be given a larger one through itself
 */
export function limitGrowth(fd: number, bytes: number | null, by = fd): void {
  const { id } = subvolumeInfo(fd)
  if (bytes === null) return btrfs.limit(by, id, none)
  const counted = valueOf(fd, id, ITEM.QGROUP_INFO) ?? 0n
  const limit = counted + BigInt(bytes)
  btrfs.limit(by, id, limit > 1n ? limit : 1n)
}

/** What the kernel takes for no limit at all; it then keeps 0. */
const none = 2n ** 64n - 1n

/** The limit of one subvolume is made that of another; none is none. */
export function copyLimit(from: number, to: number): void {
  const limit = valueOf(from, subvolumeInfo(from).id, ITEM.QGROUP_LIMIT)
  if (limit !== undefined && limit > 0n) btrfs.limit(to, subvolumeInfo(to).id, limit)
}

/** Null if it has no limit, less than 0 if it is over it. What was written since the last commit is not counted yet. */
export function roomLeft(fd: number): number | null {
  const { id } = subvolumeInfo(fd)
  const limit = valueOf(fd, id, ITEM.QGROUP_LIMIT) ?? 0n
  const counted = valueOf(fd, id, ITEM.QGROUP_INFO) ?? 0n
  return limit === 0n ? null : Number(limit - counted)
}

/** What is referred to, now or at most: the second number in both items. */
function valueOf(fd: number, subvolume: bigint, type: number): bigint | undefined {
  const key = { object: 0n, type, offset: subvolume }
  for (const { data } of searchTree(fd, TREE.QUOTA, { from: key, to: key })) return data.readBigUInt64LE(8)
  return undefined
}
