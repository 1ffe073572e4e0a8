import { existsSync, statfsSync } from 'node:fs'
import { release } from 'node:os'
import { dirname } from 'node:path'
import { hasAllIds } from '../processes/ids.ts'

const known: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x9123683e: 'btrfs',
  0x58465342: 'xfs',
  0x01021994: 'tmpfs',
  0x794c7630: 'overlay',
  0x2fc12fc1: 'zfs',
  0x6969: 'nfs',
}

/** What kind of file system a path is on, or would be on if it were made. */
export const fileSystemOf = (path: string): string => known[statfsSync(nearestExisting(path)).type] ?? 'unknown'

export const nearestExisting = (path: string): string => (existsSync(path) ? path : nearestExisting(dirname(path)))

/** File systems that know id-mapped mounts, and since which Linux. */
const mapping: Readonly<Record<number, readonly [major: number, minor: number]>> = {
  0xef53: [5, 12], // ext4
  0x58465342: [5, 12], // xfs
  0x9123683e: [5, 15], // btrfs
  0x01021994: [6, 3], // tmpfs
}

/**
 * Whether root can mount what is at a path as if it belonged to others. In a user namespace the file systems of the
 * machine are not ours to map.
 */
export function canMapIds(path: string): boolean {
  if (process.getuid?.() !== 0 || !hasAllIds()) return false
  const since = mapping[statfsSync(path).type]
  const [major = 0, minor = 0] = release().split('.').map(Number)
  return since !== undefined && (major > since[0] || (major === since[0] && minor >= since[1]))
}
