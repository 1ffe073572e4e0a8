import { toAwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { Snapshot } from '../../domain/workspace/snapshots.ts'
import { isLive, isLost, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { checkpointSignal, withWorkspace } from '../kernel/operations.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { unforked } from '../trash/purge.ts'
import { removeSnapshots } from '../snapshots/snapshot-remove.ts'
import { excludedPaths, neededIds, snapshotsOf } from '../snapshots/lookup.ts'

export interface SpareSnapshot {
  readonly snapshot: SnapshotId
  readonly workspace: Workspace
  readonly reason: string
  readonly bytes: number
  readonly error: string | null
}

interface Spare {
  readonly snapshot: SnapshotId
  readonly bytes: number
  readonly why: 'budget' | 'unneeded'
  readonly reason: string
}

/**
 * Snapshots that nobody asked to keep: of workspaces that are gone, once no fork needs them any more; what forks began
 * as that are gone; and the oldest safety copies of a workspace whose safety copies have outgrown their space. Of a
 * workspace whose tree was lost only those go that were made by the way, and only when the time of the trash is over.
 */
export async function gcSnapshots(
  core: Core,
  request: Request,
  cutoff: string,
  plan: boolean,
): Promise<SpareSnapshot[]> {
  const items: SpareSnapshot[] = []
  for (const workspace of await core.store.list()) {
    if (workspace.snapshots.all === 0) continue
    checkpointSignal(request)
    const spare = await spareOf(core, workspace, cutoff)
    const found = spare.map(({ snapshot, bytes, reason }) => ({ snapshot, workspace, reason, bytes, error: null }))
    items.push(...(plan || spare.length === 0 ? found : await remove(core, request, workspace, found, cutoff)))
  }
  return items
}

/** Under the lock what is spare is asked again: a fork may have begun since. */
async function remove(
  core: Core,
  request: Request,
  { id }: Workspace,
  found: SpareSnapshot[],
  cutoff: string,
): Promise<SpareSnapshot[]> {
  try {
    return await withWorkspace(core, request, id, async (workspace) => {
      const spare = await spareOf(core, workspace, cutoff)
      let after = workspace
      for (const why of ['unneeded', 'budget'] as const) {
        const ids = spare.filter((one) => one.why === why).map(({ snapshot }) => snapshot)
        if (ids.length > 0) after = await removeSnapshots(core, request, after, ids, why)
      }
      return found.filter(({ snapshot }) => spare.some((one) => one.snapshot === snapshot))
    })
  } catch (error) {
    return found.map((item) => ({ ...item, error: toAwError(error).message }))
  }
}

async function spareOf(core: Core, workspace: Workspace, cutoff: string): Promise<Spare[]> {
  // A lost one with other trees in the trash is gone when they are.
  if (!isLive(workspace.state) && workspace.state !== 'purged') return []
  if (isLive(workspace.state) && workspace.snapshots.all === workspace.snapshots.counted) return []
  const all = [...(await snapshotsOf(core, workspace.id)).values()]
  if (!isLive(workspace.state)) {
    const unneeded = isLost(workspace) ? leftBehind(workspace, all, cutoff) : all
    return measured(core, await unforked(core, unneeded), 'its workspace is gone')
  }
  const points = all.filter((one) => one.reason === 'fork' && one.at <= cutoff && isFree(workspace, one))
  return [
    ...(await measured(core, await unforked(core, points), 'no fork that began as it is left')),
    ...(await overBudget(core, workspace, all)),
  ]
}

const isFree = (workspace: Workspace, { snapshot, label }: Snapshot): boolean =>
  label === null && !neededIds(workspace).has(snapshot)

/** What somebody asked for, and what it would be made anew from, is all that is left of the work. */
const leftBehind = (workspace: Workspace, all: readonly Snapshot[], cutoff: string): Snapshot[] =>
  workspace.updated_at > cutoff ? [] : all.filter((one) => one.reason !== 'user' && isFree(workspace, one))

const measured = (core: Core, snapshots: readonly Snapshot[], reason: string): Promise<Spare[]> =>
  Promise.all(
    snapshots.map(async ({ snapshot }) => ({
      snapshot,
      bytes: await ownBytes(core, snapshot),
      why: 'unneeded' as const,
      reason,
    })),
  )

async function overBudget(core: Core, workspace: Workspace, all: readonly Snapshot[]): Promise<Spare[]> {
  const budget = core.config.settings['snapshots.safety_mb'] * 1024 * 1024
  if (budget === 0) return []
  const spare: Spare[] = []
  let total = 0
  let newer: SnapshotId | null = null
  // The newest are worth most: from them back, until the space is used up.
  for (const one of all.filter(({ reason }) => reason === 'safety').toReversed()) {
    const bytes = await bytesBeside(core, workspace, one.snapshot, newer ?? one.parent)
    newer = one.snapshot
    total += bytes
    if (total <= budget || !isFree(workspace, one) || (await unforked(core, [one])).length === 0) continue
    spare.unshift({ snapshot: one.snapshot, bytes, why: 'budget', reason: 'safety copies over snapshots.safety_mb' })
  }
  return spare
}

/**
 * What a safety copy holds that another tree does not: the files that differ, whole. What is its alone would be less:
 * two copies that share a file that nobody else has own nothing each, and take its space all the same.
 */
async function bytesBeside(
  core: Core,
  workspace: Workspace,
  snapshot: SnapshotId,
  other: SnapshotId | null,
): Promise<number> {
  if (other === null) return ownBytes(core, snapshot)
  let bytes = 0
  const changes = core.storage.diff(snapshotPlace(other), snapshotPlace(snapshot), {
    exclude: excludedPaths(workspace),
  })
  try {
    for await (const { after, what, change } of changes)
      if (after?.kind === 'file' && (change === 'added' || what.includes('content') || what.includes('kind')))
        bytes += after.size
    return bytes
  } catch {
    // One that cannot be compared must not keep others from being erased.
    return ownBytes(core, snapshot)
  }
}

/** What cannot be told apart counts whole. */
async function ownBytes(core: Core, snapshot: SnapshotId): Promise<number> {
  const { bytes, own } = await core.storage
    .usage(snapshotPlace(snapshot), { own: true })
    .catch(() => ({ bytes: 0, own: 0 }))
  return own ?? bytes
}
