import type { SnapshotId } from '../../domain/ids.ts'
import type { SnapshotFacts } from '../../domain/workspace/events.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { type Core, type Request, uncancellable } from '../core.ts'
import { differs } from '../diff/differences.ts'
import { omissionsIn, omissionsOf, omissionsOfTree } from './omissions.ts'
import { withWorkspace } from '../kernel/operations.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'
import { removeSnapshots } from './snapshot-remove.ts'
import type { Operand } from '../diff/operands.ts'
import { takeSnapshot } from './snapshot.ts'
import { forksOf, snapshotsOf } from './lookup.ts'

interface Taking {
  readonly reason: SnapshotFacts['reason']
  readonly meta?: Record<string, unknown>
  readonly consistent?: boolean | undefined
  /** Not of a workspace that is over its limit. */
  readonly limited?: boolean
}

interface State {
  readonly snapshot: SnapshotId
  readonly isNew: boolean
  /** What of the workspace is not in it. */
  readonly left_out: readonly string[]
}

/** A workspace as it is now, frozen: its head, if it still is that, else a new snapshot. Needs its lock. */
export async function freezeCurrentState(
  core: Core,
  request: Request,
  workspace: Workspace,
  { reason, meta = {}, ...how }: Taking,
): Promise<State & { workspace: Workspace }> {
  const { head } = workspace
  const isHead = head !== null && !(await differs(core, workspace, head, volumeOf(workspace), { exact: true }))
  // What it does not hold may have come after it: no difference shows that.
  if (isHead)
    return { workspace, snapshot: head, isNew: false, left_out: await omissionsOfTree(core, volumeOf(workspace)) }
  const made = await takeSnapshot(core, request, workspace, { label: null, meta, key: null, reason }, how)
  const { snapshot, meta: kept } = made.snapshot
  return { workspace: made.workspace, snapshot, isNew: true, left_out: omissionsIn(kept) }
}

/**
 * Nothing came of what a new snapshot was taken for, so it goes again, and the head is where it was. If it cannot, or if
 * anybody else has begun to rely on it, it stays: it does no harm.
 */
export async function discardState(core: Core, request: Request, id: Workspace['id'], snapshot: SnapshotId) {
  const later = uncancellable(request)
  await withWorkspace(core, later, id, async (workspace) => {
    const { head, branch, branches } = workspace
    const isNamed = (await snapshotsOf(core, id)).get(snapshot)?.label !== null
    const isBranch = Object.entries(branches).some(([name, end]) => end === snapshot && name !== branch)
    if (head !== snapshot || isNamed || isBranch || (await forksOf(core, snapshot)).length > 0) return
    await removeSnapshots(core, later, workspace, [snapshot], 'unneeded')
  }).catch(() => undefined)
}

interface Frozen {
  readonly place: Place
  /** A snapshot's id, or the name of a base. */
  readonly name: string
  readonly left_out: readonly string[]
}

/** Uses the frozen tree that is meant by one side. A snapshot that was taken for it goes again if that fails. */
export async function withFrozen<T>(
  core: Core,
  request: Request,
  { place, workspace: found, snapshot: asked }: Operand,
  use: (frozen: Frozen) => Promise<T>,
): Promise<T> {
  if (place.area !== 'volumes') {
    const left = asked === null ? [] : await omissionsOf(core, found, asked)
    return use({ place, name: place.name, left_out: left })
  }
  const { snapshot, isNew, left_out } = await withWorkspace(core, request, found.id, (workspace) =>
    freezeCurrentState(core, request, workspace, { reason: 'auto', meta: { for: 'export' } }),
  )
  try {
    return await use({ place: snapshotPlace(snapshot), name: snapshot, left_out })
  } catch (error) {
    if (isNew) await discardState(core, request, found.id, snapshot)
    throw error
  }
}
