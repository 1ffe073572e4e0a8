import type * as fs from 'node:fs'
import { hostFs } from './host-fs.ts'
import { copyAttributes, modeAfterWrite } from './safe-fs/xattr.ts'

/** Who copies, and whether it is the tree of a workspace, which is kept exactly as it is. */
export interface Whose {
  readonly uid: number
  readonly own: boolean
}

interface Dressing {
  readonly from: number | undefined
  readonly to: number
  readonly stat: fs.BigIntStats
}

/** Owner, attributes, mode and times, in the order in which none undoes another. */
export function dress(whose: Whose, { from, to, stat }: Dressing, isTop = false): void {
  if (whose.uid === 0) hostFs.fchownSync(to, Number(stat.uid), Number(stat.gid))
  if (from !== undefined) copyAttributes(from, to)
  // A read-only folder makes a workspace that its owner can work in all the same.
  hostFs.fchmodSync(to, keptMode(whose, stat) | (isTop ? 0o700 : 0))
  hostFs.futimesSync(to, seconds(stat.atimeNs), seconds(stat.mtimeNs))
}

export const modeOf = (stat: fs.BigIntStats): number => Number(stat.mode) & 0o7777

/** What runs with the rights of root, or of somebody else, is not made once more in a place that agents work in. */
function keptMode({ uid, own }: Whose, stat: fs.BigIntStats): number {
  const ours = uid !== 0 && Number(stat.uid) === uid
  return own || ours || stat.isDirectory() ? modeOf(stat) : modeAfterWrite(modeOf(stat))
}

/** Whether it is ours to read and only says that it may not be. */
export const isLocked = ({ uid, own }: Whose, stat: fs.BigIntStats, need: number): boolean =>
  own && uid !== 0 && Number(stat.uid) === uid && (modeOf(stat) & need) !== need

/** Node takes seconds as a floating-point number, which is good for about a microsecond; a Date is for a millisecond. */
export const seconds = (nanoseconds: bigint): number => Number(nanoseconds) / 1e9
