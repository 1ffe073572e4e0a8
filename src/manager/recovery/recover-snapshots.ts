import type { SnapshotId } from '../../domain/ids.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { append, nameFields } from '../kernel/operations.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { unlessBusy } from './unless-busy.ts'
import { snapshotsOf } from '../snapshots/lookup.ts'

/** Snapshots on disk that the log does not know are told and kept; those that are gone from disk are taken from the log. */
export async function reconcileSnapshots(
  core: Core,
  request: Request,
  onDisk: readonly Place[],
  known: readonly Workspace[],
): Promise<{ lost: string[]; unknown: Place[] }> {
  const present = new Set(onDisk.filter(({ area }) => area === 'snapshots').map(({ name }) => name))
  const expected = new Set<string>()
  const lost: string[] = []
  for (const workspace of known) {
    for (const id of intended(workspace)) expected.add(id)
    const ids = workspace.snapshots.all === 0 ? [] : [...(await snapshotsOf(core, workspace.id)).keys()]
    for (const id of ids) expected.add(id)
    if (ids.some((id) => !present.has(id)) && (await forgetLost(core, request, workspace))) lost.push(nameOf(workspace))
  }
  const unknown: Place[] = []
  for (const name of present) {
    const place = snapshotPlace(name)
    if (!expected.has(name) && (await core.storage.exists(place))) unknown.push(place)
  }
  return { lost, unknown }
}

/** What an operation in progress makes or removes is its own business. */
function intended({ operation }: Workspace): string[] {
  const { snapshot, keep, resume } = operation?.intent ?? {}
  return [snapshot, keep, resume].filter((id) => typeof id === 'string')
}

async function forgetLost(core: Core, request: Request, stale: Workspace): Promise<boolean> {
  const forget = async (workspace: Workspace): Promise<boolean> => {
    const all = await snapshotsOf(core, workspace.id)
    const gone: SnapshotId[] = []
    for (const id of all.keys()) if (!(await core.storage.exists(snapshotPlace(id)))) gone.push(id)
    if (gone.length === 0) return false
    const snapshots = gone.flatMap((id) => {
      const found = all.get(id)
      return found === undefined ? [] : [{ snapshot: id, parent: found.parent, reason: found.reason }]
    })
    const data = { ...nameFields(workspace), snapshots, why: 'lost' as const }
    await append(core, request, workspace, [newEvent(core, request, 'snapshot_removed', data)])
    return true
  }
  return unlessBusy(core, request, stale.id, forget, false)
}
