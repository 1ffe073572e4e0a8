import { readFileSync } from 'node:fs'
import { btrfs, fileSystemId, subvolumeInfo } from './btrfs-ioctls.ts'
import { ITEM, searchTree, TREE } from './btrfs-search.ts'
import { hasCode } from './errno.ts'

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

export function limitGrowth(fd: number, bytes: number): void {
  const { id } = subvolumeInfo(fd)
  const counted = valueOf(fd, id, ITEM.QGROUP_INFO) ?? 0n
  btrfs.limit(fd, id, counted + BigInt(bytes))
}

/** The limit of one subvolume is made that of another; none is none. */
export function passLimit(from: number, to: number): void {
  const limit = valueOf(from, subvolumeInfo(from).id, ITEM.QGROUP_LIMIT)
  if (limit !== undefined && limit > 0n) btrfs.limit(to, subvolumeInfo(to).id, limit)
}

/** Null if it has no limit. What was written since the last commit is not counted yet. */
export function roomLeft(fd: number): number | null {
  const { id } = subvolumeInfo(fd)
  const limit = valueOf(fd, id, ITEM.QGROUP_LIMIT) ?? 0n
  const counted = valueOf(fd, id, ITEM.QGROUP_INFO) ?? 0n
  return limit === 0n ? null : Math.max(0, Number(limit - counted))
}

/** What is referred to, now or at most: the second number in both items. */
function valueOf(fd: number, subvolume: bigint, type: number): bigint | undefined {
  const key = { object: 0n, type, offset: subvolume }
  for (const { data } of searchTree(fd, TREE.QUOTA, { from: key, to: key })) return data.readBigUInt64LE(8)
  return undefined
}
