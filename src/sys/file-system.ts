import { existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'

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
