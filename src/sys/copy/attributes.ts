import type * as fs from 'node:fs'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from '../fs/host-fs.ts'
import { native } from '../syscalls/native.ts'
import { copyAttributes, modeAfterWrite } from '../safe-fs/read/xattr.ts'
import { attributesText, type Where, writeAttributes } from '../trees/attributes.ts'

/** Who copies, for whom, and whether it is the tree of a workspace, which is kept exactly as it is. */
export interface CopyOwnership {
  readonly uid: number
  /** Whom the copy belongs to if it is not exact: only root has a choice. */
  readonly owner: { readonly uid: number; readonly gid: number }
  readonly own: boolean
  /** Of its attributes. */
  readonly where: Where
  /** Out of a workspace, where others may have made it. */
  readonly outward: boolean
}

interface AttributeTarget {
  readonly from: number | undefined
  readonly to: number
  /** Where the two are, each as one name in an open directory. */
  readonly paths: readonly [string | Buffer, string | Buffer]
  readonly stat: fs.BigIntStats
}

/** Owner, attributes, mode and times, in the order in which none undoes another. */
export function applyOwnerAndMode(
  ownership: CopyOwnership,
  { from, to, paths, stat }: AttributeTarget,
  isTop = false,
): void {
  if (ownership.uid === 0) hostFs.fchownSync(to, ...ownersOf(ownership, stat))
  if (ownership.own) copyAll(ownership, paths)
  else if (from !== undefined) copyAttributes(from, to)
  // Before the mode, which may close the way there.
  hostFs.utimesNsSync(paths[1], stat.atimeNs, stat.mtimeNs)
  // A read-only folder makes a workspace that its owner can work in all the same.
  hostFs.fchmodSync(to, modeOfCopy(ownership, stat) | (isTop && !ownership.own ? 0o700 : 0))
}

/** The same for what cannot be opened: a link, a pipe, a socket, a device. */
export function applyToUnopened(
  ownership: CopyOwnership,
  { paths, stat }: Pick<AttributeTarget, 'paths' | 'stat'>,
): void {
  if (ownership.uid === 0) hostFs.lchownSync(paths[1], ...ownersOf(ownership, stat))
  if (ownership.own) copyAll(ownership, paths)
  if (!stat.isSymbolicLink()) hostFs.chmodSync(paths[1], modeOf(stat))
  hostFs.utimesNsSync(paths[1], stat.atimeNs, stat.mtimeNs)
}

const copyAll = ({ where }: CopyOwnership, [from, to]: AttributeTarget['paths']): void =>
  writeAttributes(to, attributesText(from, where), where)

const ownersOf = ({ own, owner }: CopyOwnership, stat: fs.BigIntStats): [number, number] =>
  own ? [Number(stat.uid), Number(stat.gid)] : [owner.uid, owner.gid]

/** Makes a pipe, a socket or a device once more. False if this process may not, or cannot without system calls. */
export function makeNode(path: string | Buffer, stat: fs.BigIntStats): boolean {
  if (native() === undefined) return false
  try {
    hostFs.mknodSync(path, (Number(stat.mode) & 0o170000) | 0o600, Number(stat.rdev))
    return true
  } catch (error) {
    if (hasCode(error, 'EPERM')) return false
    throw error
  }
}

export const modeOf = (stat: fs.BigIntStats): number => Number(stat.mode) & 0o7777

/** Without set-user-id and set-group-id. */
export const withoutSetId = (mode: number): number => mode & 0o1777

/**
 * What runs with the rights of root, or of somebody else, is not made once more in a place that agents work in; nor is
 * what runs with ours where they do not.
 */
function modeOfCopy({ uid, own, outward }: CopyOwnership, stat: fs.BigIntStats): number {
  if (outward && !stat.isDirectory()) return withoutSetId(modeOf(stat))
  const ours = uid !== 0 && Number(stat.uid) === uid
  return own || ours || stat.isDirectory() ? modeOf(stat) : modeAfterWrite(modeOf(stat))
}

/** Whether it is ours to read and only says that it may not be. */
export const isLocked = ({ uid, own }: CopyOwnership, stat: fs.BigIntStats, need: number): boolean =>
  own && uid !== 0 && Number(stat.uid) === uid && (modeOf(stat) & need) !== need
