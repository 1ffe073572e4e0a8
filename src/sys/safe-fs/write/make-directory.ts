import * as fs from 'node:fs'
import { hostFs } from '../../fs/host-fs.ts'
import { at, errnoOf, identity, type Name, readFlags } from '../descriptors.ts'
import type { Root } from '../root.ts'

const { O_DIRECTORY, O_NOFOLLOW } = fs.constants
const setGroupId = 0o2000

/** Makes one directory with the mode and owner it should have. One that is there already is left as it is. */
export function makeDirectory(root: Root, dir: number, name: Name, mode = root.dirMode): boolean {
  try {
    hostFs.mkdirSync(at(dir, name), mode ?? 0o777)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false
    throw error
  }
  if (mode !== undefined || process.getuid?.() === 0) applyMode(root, dir, name, mode)
  return true
}

function applyMode(root: Root, dir: number, name: Name, mode: number | undefined): void {
  const fd = fs.openSync(at(dir, name), readFlags | O_DIRECTORY | O_NOFOLLOW)
  try {
    // Someone may have put another directory there since; those of ours that matter are known.
    if (root.protectedObjects().has(identity(fd))) return
    chownLikeParent(dir, fd)
    // A directory in a set-group-id directory has inherited the bit; it is not to lose it.
    if (mode !== undefined) hostFs.fchmodSync(fd, (mode & 0o1777) | (fs.fstatSync(fd).mode & setGroupId))
  } finally {
    fs.closeSync(fd)
  }
}

/** What root makes in a workspace belongs to the workspace's owner. Others own what they make anyway. */
export function chownLikeParent(dir: number, fd: number): void {
  if (process.getuid?.() !== 0) return
  const [parent, own] = [fs.fstatSync(dir), fs.fstatSync(fd)]
  if (parent.uid === own.uid && parent.gid === own.gid) return
  hostFs.fchownSync(fd, parent.uid, parent.gid)
}
