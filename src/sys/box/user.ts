import { statfsSync, statSync } from 'node:fs'
import { release } from 'node:os'
import { dirname } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { assertOurs, ensureDirectory } from '../directories.ts'
import { hostFs } from '../host-fs.ts'

/** Whom a box runs as on the host, and how what belongs to others is made its own. */
export interface BoxUser {
  /** Undefined: whoever runs this. */
  readonly uid: number | undefined
  /** For what belongs to `owner`: `-`, or the ids of a mount that shows it as the box's user's. */
  mapOf(owner: number): string
  readonly note?: string | undefined
}

/**
 * Root never runs a box as itself: as the user that was asked for, if the file system of the tree can show the tree as
 * that user's; else as the tree's owner. An ordinary user cannot choose.
 */
export function chooseUser(tree: { path: string; owner: number }, asked: number | undefined): BoxUser {
  if (process.getuid?.() !== 0) return { uid: undefined, mapOf: () => '-' }
  const maps = canMapIds(tree.path)
  const uid = asked !== undefined && (maps || asked === tree.owner) ? asked : tree.owner
  if (uid === 0) {
    throw new AwError('sandbox_unenforceable', 'The workspace belongs to root, and a sandbox never runs as root', {
      hint: `Give it to another user: chown -R 61000:61000 ${tree.path}`,
      data: { path: tree.path },
    })
  }
  const note =
    asked === undefined || asked === uid
      ? undefined
      : `it runs as uid ${uid}, the owner of the workspace: its file system cannot show it as another user's`
  return { uid, mapOf: (owner) => (owner === uid || !maps ? '-' : `${owner}:${uid}`), note }
}

/** File systems that know id-mapped mounts, and since which Linux. */
const mapping: Readonly<Record<number, readonly [major: number, minor: number]>> = {
  0xef53: [5, 12], // ext4
  0x58465342: [5, 12], // xfs
  0x9123683e: [5, 15], // btrfs
  0x01021994: [6, 3], // tmpfs
}

function canMapIds(path: string): boolean {
  const since = mapping[statfsSync(path).type]
  const [major = 0, minor = 0] = release().split('.').map(Number)
  return since !== undefined && (major > since[0] || (major === since[0] && minor >= since[1]))
}

/** Whether a user can get to a path: every directory above it lets others, or that user, through. */
export function canReach(path: string, uid: number): boolean {
  for (let above = dirname(path); ; above = dirname(above)) {
    const { mode, uid: owner } = statSync(above)
    if ((mode & (owner === uid ? 0o100 : 0o001)) === 0) return false
    if (above === '/') return true
  }
}

/** Where root's boxes find what their user cannot get to by its own path; each has its own mounts on it. */
export const stagePath = '/run/aw/stage'

export function ensureStage(): string {
  for (const path of [dirname(stagePath), stagePath]) {
    ensureDirectory(path, 0o711)
    assertOurs(path, 'directory for sandboxes')
    // Whatever mask we were started with, the boxes' users go through it.
    if ((statSync(path).mode & 0o001) === 0) hostFs.chmodSync(path, 0o711)
  }
  return stagePath
}
