import type { AnyEvent } from '../log/event.ts'
import type { SnapshotId, WorkspaceId } from '../ids.ts'
import type { SnapshotFacts } from './events.ts'

/** A frozen tree of a workspace, as the log tells it. */
export interface Snapshot extends SnapshotFacts {
  readonly workspace: WorkspaceId
  readonly author: string
  readonly at: string
  /** Somebody gave it its label afterwards. */
  readonly named?: true
  /** The one that it was taken after is gone: in so many paths it differed from that. */
  readonly differed?: number | null
}

/** The events that say something about snapshots; all others may be left out of `foldSnapshots`. */
export const snapshotEventTypes = [
  'snapshot_created',
  'snapshot_labelled',
  'snapshot_removed',
  'workspace_restored',
  'workspace_purged',
] as const

/** The snapshots of a workspace by id, oldest first; `before` are those that were there before these events. */
export function foldSnapshots(
  events: Iterable<AnyEvent>,
  before: ReadonlyMap<SnapshotId, Snapshot> = new Map(),
): Map<SnapshotId, Snapshot> {
  const snapshots = new Map(before)
  for (const event of events) {
    const about = { workspace: event.stream as WorkspaceId, author: event.meta.actor, at: event.at }
    switch (event.type) {
      case 'snapshot_created': {
        const { task_id: _task, agent_id: _agent, ...facts } = event.data
        snapshots.set(facts.snapshot, { ...facts, ...about })
        break
      }
      case 'workspace_restored':
        for (const facts of event.data.kept) snapshots.set(facts.snapshot, { ...facts, ...about })
        break
      case 'snapshot_labelled': {
        const found = snapshots.get(event.data.snapshot)
        if (found) snapshots.set(found.snapshot, { ...found, label: event.data.label, named: true })
        break
      }
      case 'snapshot_removed':
        for (const { snapshot } of event.data.snapshots) remove(snapshots, snapshot)
        break
      case 'workspace_purged':
        for (const snapshot of event.data.snapshots) remove(snapshots, snapshot)
        break
      default:
    }
  }
  return snapshots
}

/** What grew from a removed one grows from its parent; nobody has counted what differs from that. */
function remove(snapshots: Map<SnapshotId, Snapshot>, id: SnapshotId): void {
  const parent = snapshots.get(id)?.parent ?? null
  snapshots.delete(id)
  for (const [child, snapshot] of snapshots) {
    if (snapshot.parent !== id) continue
    const { differed = snapshot.files_changed } = snapshot
    snapshots.set(child, { ...snapshot, parent, files_changed: null, differed })
  }
}

/** Snapshots that count against the limit. Safety copies and what forks grow from are kept beside it. */
export const isCounted = ({ reason }: { reason: SnapshotFacts['reason'] }): boolean =>
  reason === 'user' || reason === 'auto'

/**
 * Which automatic snapshots may go so that one more fits: the oldest first, and none that anything still needs. Those
 * that somebody asked for are never dropped; if they alone fill the limit, the answer is undefined.
 */
export function makeRoom(
  snapshots: readonly Snapshot[],
  limit: number,
  needed: ReadonlySet<SnapshotId>,
): SnapshotId[] | undefined {
  const excess = snapshots.filter(isCounted).length + 1 - limit
  if (excess <= 0) return []
  const spare = snapshots.filter((one) => one.reason === 'auto' && isNameless(one) && !needed.has(one.snapshot))
  return spare.length < excess ? undefined : spare.slice(0, excess).map(({ snapshot }) => snapshot)
}

/** The label of what a run left is its prompt, which nobody wrote to keep it: else so many runs would be the last ones. */
const isNameless = ({ label, meta, key, named }: Snapshot): boolean =>
  label === null || (named !== true && key !== null && meta['run'] === key)

export interface SnapshotNode<T> {
  readonly snapshot: T
  readonly children: readonly SnapshotNode<T>[]
}

/** As a tree: those whose parent is not among them are at the top. Siblings stay in their order. */
export function snapshotTree<T extends { readonly id: string; readonly parent: string | null }>(
  snapshots: readonly T[],
): SnapshotNode<T>[] {
  const nodes = new Map(snapshots.map((snapshot) => [snapshot.id, { snapshot, children: [] as SnapshotNode<T>[] }]))
  const top: SnapshotNode<T>[] = []
  for (const node of nodes.values()) {
    const above = node.snapshot.parent === null ? undefined : nodes.get(node.snapshot.parent)
    const siblings = above?.children ?? top
    siblings.push(node)
  }
  return top
}
