import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { WorkspaceEventData } from '../../domain/workspace/events.ts'
import type { Snapshot } from '../../domain/workspace/snapshots.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { append, begin, giveUp, intentOf, isFenced, whose, withWorkspace } from '../kernel/operations.ts'
import { eraseAll, snapshotPlace } from '../kernel/places.ts'
import { checkedLabel } from './snapshot.ts'
import { forksOf, resolveAmong, snapshotsOf } from './snapshots.ts'
import { snapshotView, type SnapshotView } from '../kernel/view.ts'

export async function labelSnapshot(
  core: Core,
  input: Inputs['snapshot label'],
  request: Request,
): Promise<SnapshotView> {
  const { id } = await findWorkspace(core, input.id)
  const label = labelOf(input)
  return withWorkspace(core, request, id, async (workspace) => {
    const found = ownSnapshot(workspace, await snapshotsOf(core, id), input.snapshot)
    const data = { ...whose(workspace), snapshot: found.snapshot, label }
    const after = await append(core, request, workspace, [newEvent(core, request, 'snapshot_labelled', data)])
    return snapshotView({ ...found, label }, after)
  })
}

/** A label that was forgotten on the way must not erase the one there is. */
function labelOf({ label, remove = false }: Inputs['snapshot label']): string | null {
  if (label !== undefined && !remove) return checkedLabel(label)
  if (label === undefined && remove) return null
  throw new AwError('invalid_input', remove ? 'A label is given or taken away, not both' : 'There is no label', {
    hint: 'Give a label, or --remove to take it away',
    data: { field: 'label' },
  })
}

export async function removeSnapshot(
  core: Core,
  input: Inputs['snapshot remove'],
  request: Request,
): Promise<Outputs['snapshot remove']> {
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (workspace) => {
    const all = await snapshotsOf(core, id)
    const ids = new Set(input.snapshots.map((ref) => ownSnapshot(workspace, all, ref).snapshot))
    for (const one of ids) await assertUnforked(core, one)
    await removeSnapshots(core, request, workspace, [...ids], 'user')
    return { removed: [...ids] }
  })
}

/** The one a fork began as belongs to the workspace it was forked from. */
function ownSnapshot(workspace: Workspace, all: ReadonlyMap<SnapshotId, Snapshot>, ref: string): Snapshot {
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

async function assertUnforked(core: Core, id: SnapshotId): Promise<void> {
  const forks = await forksOf(core, id)
  const first = forks[0]
  if (first === undefined) return
  const who = forks.length > 1 ? `${nameOf(first)} and ${forks.length - 1} more` : nameOf(first)
  const are = forks.length > 1 ? 'are' : 'is'
  throw new AwError('invalid_state', `${who} began as ${id} and ${are} compared with it`, {
    hint: `Purge the forks first, or keep it`,
    data: { snapshot: id, forks: forks.map(nameOf) },
  })
}

type Why = WorkspaceEventData['snapshot_removed']['why']

/** Erases snapshots for good. Needs the workspace's lock. */
export async function removeSnapshots(
  core: Core,
  request: Request,
  workspace: Workspace,
  ids: readonly SnapshotId[],
  why: Why,
): Promise<Workspace> {
  const all = await snapshotsOf(core, workspace.id)
  const snapshots = ids.flatMap((id) => {
    const found = all.get(id)
    return found === undefined ? [] : [{ snapshot: id, parent: found.parent, reason: found.reason }]
  })
  const data = { ...whose(workspace), snapshots, why }
  const begun = await begin(core, request, workspace, 'snapshot_remove_started', 'remove_snapshots', data)
  try {
    return await finishRemoval(core, request, begun.workspace, begun.operation)
  } catch (error) {
    if (!isFenced(error)) await giveUp(core, request, begun, 'remove_snapshots', error)
    throw error
  }
}

/** Always forward: half of a snapshot is of no use to anybody. Safe to repeat. */
export async function finishRemoval(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const { snapshots, why } = intentOf(workspace, 'remove_snapshots')
  await eraseAll(
    core,
    snapshots.map(({ snapshot }) => snapshotPlace(snapshot)),
  )
  const data = { ...whose(workspace), snapshots, why }
  return append(core, request, workspace, [newEvent(core, request, 'snapshot_removed', data, operation)])
}
