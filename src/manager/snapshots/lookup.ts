import { AwError } from '../../domain/errors.ts'
import { isSnapshotId, type SnapshotId } from '../../domain/ids.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { foldSnapshots, snapshotEventTypes, type Snapshot } from '../../domain/workspace/snapshots.ts'
import { baseNameOf, baseOf, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { cachedFold } from '../kernel/cached-fold.ts'
import { snapshotView, type SnapshotView } from '../kernel/view.ts'

type Snapshots = ReadonlyMap<SnapshotId, Snapshot>

const folded = cachedFold<Snapshots>(snapshotEventTypes, foldSnapshots)

/** The snapshots of a workspace, oldest first. */
export const snapshotsOf = ({ store }: Core, id: Workspace['id']): Promise<Snapshots> => folded(store, id)

/** The one that shows what the workspace began as. Any other has all that was done until then: it is no beginning. */
export async function initialSnapshot(core: Core, { id }: Workspace): Promise<SnapshotId | undefined> {
  const [first] = (await snapshotsOf(core, id)).values()
  return first?.beginning === true ? first.snapshot : undefined
}

/** aw's own directory in a tree is generated from the log: it is no part of what was worked on. */
export const excludedPaths = (...workspaces: readonly Workspace[]): string[] => [
  ...new Set(workspaces.map(({ profile }) => profileOf(profile).metadata)),
]

/**
 * What a caller means: an id or the beginning of one, `head`, `base` (what a fork began as), or a label (the newest one
 * with it). Only snapshots of the workspace itself and the one it was forked from are found.
 */
export async function resolveSnapshot(core: Core, workspace: Workspace, ref: string): Promise<SnapshotId> {
  return pointedAt(workspace, ref) ?? resolveAmong(workspace, await snapshotsOf(core, workspace.id), ref)
}

function pointedAt(workspace: Workspace, ref: string): SnapshotId | null {
  if (ref === 'head') return workspace.head
  return ref === 'base' ? baseOf(workspace) : null
}

/** The same, for who has read the snapshots of the workspace already. */
function resolveAmong(workspace: Workspace, snapshots: ReadonlyMap<SnapshotId, Snapshot>, ref: string): SnapshotId {
  const base = baseOf(workspace)
  const pointed = pointedAt(workspace, ref)
  if (pointed !== null) return pointed
  if (isSnapshotId(ref) && (snapshots.has(ref) || ref === base)) return ref
  const labelled = [...snapshots.values()].findLast(({ label }) => label === ref)
  if (labelled !== undefined) return labelled.snapshot
  const started = isIdStart(ref) ? [...new Set([...snapshots.keys(), ...(base === null ? [] : [base])])] : []
  const [only, ...others] = started.filter((id) => id.startsWith(ref))
  if (only !== undefined && others.length === 0) return only
  throw snapshotNotFound(workspace, ref, [...snapshots.values()])
}

/** Enough of an id to be no accident: all of its time. */
export const isIdStart = (ref: string): boolean => /^snap_[0-9a-z]{10,26}$/.test(ref)

/** No snapshot at all, or none that the tree grew from: it was reset, or that one was removed. */
export function noHead(workspace: Workspace): AwError {
  const name = nameOf(workspace)
  const some = workspace.snapshots.all > 0
  return new AwError(
    'snapshot_not_found',
    some ? `${name} has no head: its tree grew from no snapshot` : `${name} has no snapshot yet`,
    {
      hint: some
        ? `See its snapshots (aw snapshots ${name}) and go back to one: aw restore ${name} SNAPSHOT`
        : `Take one: aw snapshot ${name}`,
      data: { id: workspace.id, snapshot: 'head' },
    },
  )
}

function snapshotNotFound(workspace: Workspace, ref: string, snapshots: readonly Snapshot[]): AwError {
  if (ref === 'head') return noHead(workspace)
  const name = nameOf(workspace)
  const labels = snapshots.flatMap(({ label }) => (label === null ? [] : [label]))
  const close = nearest(ref, labels)
  const said = JSON.stringify(ref.slice(0, 200))
  const noBase = baseNameOf(workspace) === null ? 'is not a fork, so it has no base' : 'began as no snapshot'
  const isErased = workspace.state === 'purged'
  const none = isErased ? `${name} was erased, and its snapshot ${said} with it` : `${name} has no snapshot ${said}`
  const what = ref === 'base' ? `${name} ${noBase}` : none
  const alike = isIdStart(ref) ? snapshots.filter(({ snapshot }) => snapshot.startsWith(ref)) : []
  const several = `${name} has ${alike.length} snapshots that begin with ${said}`
  const isBranch = Object.hasOwn(workspace.branches, ref)
  const meant = isBranch ? `It is a branch: aw restore ${name} --branch ${ref}` : undefined
  const like =
    close === undefined
      ? `See what there is: aw snapshots ${isErased ? workspace.id : name}`
      : `Did you mean ${JSON.stringify(close)}?`
  return new AwError('snapshot_not_found', alike.length > 1 ? several : what, {
    hint: meant ?? like,
    data: { id: workspace.id, snapshot: ref },
  })
}

/** What must stay as long as the workspace is what it is. Of what restores replaced, only what the last did. */
export const neededIds = ({ head, branches, redo, before }: Workspace): Set<SnapshotId> => {
  const steps = [...redo, ...before.slice(0, 1)].map(({ snapshot }) => snapshot)
  return new Set([head, ...Object.values(branches), ...steps].filter((id) => id !== null))
}

/** Workspaces that began as this snapshot and are not gone: they are compared with it. */
export async function forksOf(core: Core, snapshot: SnapshotId): Promise<Workspace[]> {
  const forks = await core.store.list({ base: snapshot })
  return forks.filter(({ state }) => state !== 'purged')
}

/** What a fork began as is of a workspace that it goes back to. */
export async function snapshotAt(
  core: Core,
  workspace: Workspace,
  id: SnapshotId | null,
): Promise<SnapshotView | null> {
  if (id === null) return null
  let owner: Workspace | undefined = workspace
  while (owner !== undefined) {
    const found = (await snapshotsOf(core, owner.id)).get(id)
    if (found !== undefined) return { ...snapshotView(found, workspace), workspace: nameOf(owner) }
    owner = owner.source.kind === 'workspace' ? await core.store.get(owner.source.workspace) : undefined
  }
  return null
}

/** The one a fork began as belongs to the workspace it was forked from. */
export function ownSnapshot(workspace: Workspace, all: ReadonlyMap<SnapshotId, Snapshot>, ref: string): Snapshot {
  const id = resolveAmong(workspace, all, ref)
  const found = all.get(id)
  if (found !== undefined) return found
  throw new AwError(
    'snapshot_not_found',
    `${id} is a snapshot of the workspace that ${nameOf(workspace)} was forked from`,
    {
      hint: 'Name that workspace',
      data: { id: workspace.id, snapshot: id },
    },
  )
}
