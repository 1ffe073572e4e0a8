import type { Outputs } from '../api/table.ts'
import { toAwError } from '../domain/errors.ts'
import type { SnapshotId } from '../domain/ids.ts'
import { isLive, nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Core, Request } from './core.ts'
import { withWorkspace } from './operations.ts'
import { snapshotPlace } from './places.ts'
import { unforked } from './purge.ts'
import { removeSnapshots } from './remove-snapshots.ts'
import { forksOf, neededIds, snapshotsOf } from './snapshots.ts'

type Item = Outputs['gc']['items'][number]

interface Spare {
  readonly snapshot: SnapshotId
  readonly bytes: number
  readonly why: 'budget' | 'unneeded'
}

const reasons = { budget: 'safety copies over snapshots.safety_mb', unneeded: 'its workspace is gone' } as const

/**
 * Snapshots that nobody asked to keep: of workspaces that are gone, once no fork needs them any more; and the oldest
 * safety copies of a workspace whose safety copies have outgrown their space.
 */
export async function gcSnapshots(core: Core, request: Request, plan: boolean): Promise<Item[]> {
  const items: Item[] = []
  for (const workspace of await core.store.list()) {
    if (workspace.snapshots.all === 0) continue
    const spare = await spareOf(core, workspace)
    const found = spare.map(({ snapshot, bytes, why }) => ({
      tree: snapshot,
      workspace: nameOf(workspace),
      reason: reasons[why],
      bytes,
      error: null,
    }))
    items.push(...(plan || spare.length === 0 ? found : await remove(core, request, workspace, found)))
  }
  return items
}

/** Under the lock what is spare is asked again: a fork may have begun since. */
async function remove(core: Core, request: Request, { id }: Workspace, found: Item[]): Promise<Item[]> {
  try {
    return await withWorkspace(core, request, id, async (workspace) => {
      const spare = await spareOf(core, workspace)
      const [first] = spare
      if (first === undefined) return []
      const ids = spare.map(({ snapshot }) => snapshot)
      await removeSnapshots(core, request, workspace, ids, first.why)
      return found.filter(({ tree }) => ids.includes(tree as SnapshotId))
    })
  } catch (error) {
    return found.map((item) => ({ ...item, error: toAwError(error).message }))
  }
}

async function spareOf(core: Core, workspace: Workspace): Promise<Spare[]> {
  if (workspace.state === 'purged') {
    const ids = await unforked(core, workspace)
    return Promise.all(
      ids.map(async (snapshot) => ({ snapshot, bytes: await ownBytes(core, snapshot), why: 'unneeded' as const })),
    )
  }
  return isLive(workspace.state) ? overBudget(core, workspace) : []
}

async function overBudget(core: Core, workspace: Workspace): Promise<Spare[]> {
  const budget = core.config.settings['snapshots.safety_mb'] * 1024 * 1024
  if (budget === 0 || workspace.snapshots.all === workspace.snapshots.counted) return []
  const needed = neededIds(workspace)
  const spare: Spare[] = []
  let bytes = 0
  // The newest are worth most: from them back, until the space is used up.
  for (const { snapshot, reason, label } of [...(await snapshotsOf(core, workspace.id)).values()].toReversed()) {
    if (reason !== 'safety') continue
    const own = await ownBytes(core, snapshot)
    bytes += own
    const isFree = label === null && !needed.has(snapshot) && (await forksOf(core, snapshot)).length === 0
    if (bytes > budget && isFree) spare.unshift({ snapshot, bytes: own, why: 'budget' })
  }
  return spare
}

/** What cannot be told apart counts whole. */
async function ownBytes(core: Core, snapshot: SnapshotId): Promise<number> {
  const { bytes, own } = await core.storage
    .usage(snapshotPlace(snapshot), { own: true })
    .catch(() => ({ bytes: 0, own: 0 }))
  return own ?? bytes
}
