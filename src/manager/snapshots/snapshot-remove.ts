import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { WorkspaceEventData } from '../../domain/workspace/events.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { append, begin, intentOf, isFenced, nameFields, rollBack, withWorkspace } from '../kernel/operations.ts'
import { eraseAll, snapshotPlace } from '../kernel/places.ts'
import { forksOf, ownSnapshot, snapshotsOf } from './lookup.ts'

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
  const data = { ...nameFields(workspace), snapshots, why }
  const started = await begin(core, request, workspace, 'snapshot_remove_started', 'remove_snapshots', data)
  try {
    return await finishRemoval(core, request, started.workspace, started.operation)
  } catch (error) {
    if (!isFenced(error)) await rollBack(core, request, started, 'remove_snapshots', error)
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
  const data = { ...nameFields(workspace), snapshots, why }
  return append(core, request, workspace, [newEvent(core, request, 'snapshot_removed', data, operation)])
}
