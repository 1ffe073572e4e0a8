import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { AwError } from '../../../../domain/errors.ts'
import type { StorageCapabilities } from '../../../../ports/storage-capabilities.ts'
import { assertOwned, ensureDirectory } from '../../../../sys/fs/directories.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { hasId, isNamespacedRoot } from '../../../../sys/processes/ids.ts'

/** Whom a box runs as on the host, and how what belongs to others is made its own. */
export interface BoxUser {
  /** Undefined: whoever runs this. */
  readonly uid: number | undefined
  /** For what belongs to `owner`: `-`, or the ids of a mount that shows it as the box's user's. */
  mapOf(owner: number): string
  readonly note?: string | undefined
}

/** Whom a tree belongs to, and whether it can be shown as somebody else's. */
export interface TreeOwner {
  /** Undefined as long as it is not there. */
  readonly path?: string | undefined
  readonly owner: number
  readonly maps: boolean
}

/** Of one that is yet to be made. */
export const futureOwner = ({ owner, idmap }: Pick<StorageCapabilities, 'idmap' | 'owner'>): TreeOwner => ({
  owner: owner ?? process.getuid?.() ?? 0,
  maps: idmap,
})

/**
 * Root never runs a box as itself: as the user that was asked for, if the file system of the tree can show the tree as
 * that user's; else as the tree's owner. An ordinary user cannot choose. Nor can one who is root only in a user namespace
 * of an ordinary user without other ids: its own tree is shown by `namespace`, whose walls take all its rights away.
 */
export function chooseUser(
  tree: TreeOwner,
  asked: number | undefined,
  { asItself }: { readonly asItself: boolean },
): BoxUser {
  if (process.getuid?.() !== 0) return self
  const { owner, maps } = tree
  const fits = asked !== undefined && hasId(asked) && (maps || asked === owner)
  const uid = fits ? asked : owner
  if (uid === 0 && asItself && isNamespacedRoot()) return self
  if (uid === 0 || !hasId(uid)) throw noUserToRunAs(tree, uid)
  const note =
    asked === undefined || asked === uid
      ? undefined
      : `it runs as uid ${uid}, the owner of the workspace: ${whyNotAsUser(asked)}`
  return { uid, mapOf: (of) => (of === uid || !maps ? '-' : `${of}:${uid}`), note }
}

const self: BoxUser = { uid: undefined, mapOf: () => '-' }

const whyNotAsUser = (asked: number): string =>
  hasId(asked)
    ? "its file system cannot show it as another user's"
    : `the user namespace that aw runs in has no uid ${asked}`

function noUserToRunAs({ path, owner }: TreeOwner, uid: number): AwError {
  const why =
    uid === 0
      ? 'The workspace belongs to root, and a sandbox never runs as root'
      : `The workspace belongs to uid ${owner}, which the user namespace that aw runs in does not have`
  return new AwError('sandbox_unenforceable', why, {
    hint: hasId(usual)
      ? `Give it to another user: ${path === undefined ? 'set workspaces.uid' : `chown -R ${usual}:${usual} ${path}`}`
      : 'This user namespace has too few ids (see /proc/self/uid_map): run aw as an ordinary user, or outside of it',
    data: { path, owner },
  })
}

/** Whom workspaces belong to where nobody says otherwise. */
const usual = 61_000

/** Whether boxes are shown what they mount by a stage, as somebody else cannot get to it; else by a handle. */
export const usesStage = (): boolean => process.getuid?.() === 0 && !isNamespacedRoot()

/** Whether a user can get to a path: every directory above it lets others, or that user, through. */
export function canReach(path: string, uid: number): boolean {
  for (let above = dirname(path); ; above = dirname(above)) {
    const { mode, uid: owner } = statSync(above)
    if ((mode & (owner === uid ? 0o100 : 0o001)) === 0) return false
    if (above === '/') return true
  }
}

/**
 * Where root's boxes find what their user cannot get to by its own path; each has its own mounts on it. It is the same
 * for all, unless that place is not to be had, as for root of a user namespace: then one for the directory of the boxes.
 */
export function ensureStage(run: string): string {
  const own = `/tmp/.aw-stage-${createHash('sha256').update(run).digest('hex').slice(0, 16)}`
  try {
    return ensurePassable('/run/aw', '/run/aw/stage')
  } catch (error) {
    if (!isNamespacedRoot()) throw error
    return ensurePassable(own)
  }
}

/** Answers the last one. */
function ensurePassable(...paths: string[]): string {
  for (const path of paths) {
    ensureDirectory(path, 0o711)
    assertOwned(path, 'directory for sandboxes')
    // Whatever mask we were started with, the boxes' users go through it.
    if ((statSync(path).mode & 0o001) === 0) hostFs.chmodSync(path, 0o711)
  }
  return paths.at(-1) ?? ''
}
