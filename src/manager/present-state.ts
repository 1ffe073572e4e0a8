import type { SnapshotId } from '../domain/ids.ts'
import type { SnapshotFacts } from '../domain/workspace/events.ts'
import type { Workspace } from '../domain/workspace/state.ts'
import type { Place } from '../ports/storage-driver.ts'
import type { Core, Request } from './core.ts'
import { differs } from './differences.ts'
import { withWorkspace } from './operations.ts'
import { snapshotPlace } from './places.ts'
import type { Side } from './sides.ts'
import { takeSnapshot } from './snapshot.ts'

interface Taking {
  readonly reason: SnapshotFacts['reason']
  readonly meta?: Record<string, unknown>
  readonly consistent?: boolean | undefined
  /** Not of a workspace that is over its limit. */
  readonly limited?: boolean
}

/** A workspace as it is now, frozen: its head, if it still is that, else a new snapshot. Needs its lock. */
export async function presentState(
  core: Core,
  request: Request,
  workspace: Workspace,
  { reason, meta = {}, ...how }: Taking,
): Promise<{ workspace: Workspace; snapshot: SnapshotId }> {
  const { head } = workspace
  if (head !== null && !(await differs(core, workspace, head))) return { workspace, snapshot: head }
  const made = await takeSnapshot(core, request, workspace, { label: null, meta, key: null, reason }, how)
  return { workspace: made.workspace, snapshot: made.snapshot.snapshot }
}

interface Frozen {
  readonly place: Place
  /** A snapshot's id, or the name of a base. */
  readonly name: string
}

/** The frozen tree that is meant by one side. */
export async function frozenOf(core: Core, request: Request, { place, workspace: found }: Side): Promise<Frozen> {
  if (place.area !== 'volumes') return { place, name: place.name }
  const { snapshot } = await withWorkspace(core, request, found.id, (workspace) =>
    presentState(core, request, workspace, { reason: 'auto', meta: { for: 'export' } }),
  )
  return { place: snapshotPlace(snapshot), name: snapshot }
}
