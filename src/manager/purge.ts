import type { Inputs, Outputs } from '../api/table.ts'
import { toAwError } from '../domain/errors.ts'
import type { SnapshotId } from '../domain/ids.ts'
import { assertAllowed } from '../domain/workspace/allow.ts'
import type { Workspace } from '../domain/workspace/state.ts'
import { assertTreesUnused } from './activity.ts'
import { newEvent, type Core, type OperationRef, type Request } from './core.ts'
import { findTrashed } from './find.ts'
import { append, begin, giveUp, intentOf, isFenced, whose, withWorkspace } from './operations.ts'
import { eraseAll, erasingOf, snapshotPlace, trashOf } from './places.ts'
import { forksOf, snapshotsOf } from './snapshots.ts'

export async function purge(core: Core, input: Inputs['purge'], request: Request): Promise<Outputs['purge']> {
  try {
    const { id } = await findTrashed(core, input.id)
    return await withWorkspace(core, request, id, async (workspace) => {
      assertAllowed(workspace, 'purge')
      await assertTreesUnused(core, workspace, input)
      const trees = workspace.trash.map(({ tree }) => tree)
      const bytes = await bytesOf(core, trees)
      await purgeTrees(core, request, workspace, trees)
      return { purged: true, bytes }
    })
  } catch (error) {
    if (input.if_exists === true && toAwError(error).code === 'workspace_not_found') return { purged: false, bytes: 0 }
    throw error
  }
}

/** Erases trees of a workspace for good. Needs its lock. */
export async function purgeTrees(
  core: Core,
  request: Request,
  workspace: Workspace,
  trees: string[],
): Promise<Workspace> {
  const data = { ...whose(workspace), trees, snapshots: await unneeded(core, workspace, trees) }
  const begun = await begin(core, request, workspace, 'workspace_purge_started', 'purge', data)
  try {
    return await finishPurge(core, request, begun.workspace, begun.operation)
  } catch (error) {
    // What cannot be erased must not keep the workspace busy: the next purge, gc or recover tries again.
    if (!isFenced(error)) await giveUp(core, request, begun, 'purge', error)
    throw error
  }
}

/** Always forward: what was begun to be erased is of no use to anybody. Safe to repeat. */
export async function finishPurge(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const { trees, snapshots } = intentOf(workspace, 'purge')
  for (const tree of trees) {
    if (await core.storage.exists(trashOf(tree))) await core.storage.move(trashOf(tree), erasingOf(tree))
  }
  await eraseAll(core, [...trees.map(erasingOf), ...snapshots.map(snapshotPlace)])
  const last = workspace.state === 'trashed' && workspace.trash.every(({ tree }) => trees.includes(tree))
  if (last) await core.texts.remove(workspace.id)
  return append(core, request, workspace, [
    newEvent(core, request, 'workspace_purged', { ...whose(workspace), trees, snapshots }, operation),
  ])
}

/** With its last tree go the snapshots of a workspace, but for those that forks began as. */
async function unneeded(core: Core, workspace: Workspace, trees: readonly string[]): Promise<SnapshotId[]> {
  const last = workspace.state === 'trashed' && workspace.trash.every(({ tree }) => trees.includes(tree))
  return last ? unforked(core, workspace) : []
}

/** Snapshots of a workspace that no other one needs. */
export async function unforked(core: Core, workspace: Workspace): Promise<SnapshotId[]> {
  const ids: SnapshotId[] = []
  for (const id of (await snapshotsOf(core, workspace.id)).keys())
    if ((await forksOf(core, id)).length === 0) ids.push(id)
  return ids
}

export async function bytesOf(core: Core, trees: readonly string[]): Promise<number> {
  let bytes = 0
  for (const place of trees.flatMap((tree) => [trashOf(tree), erasingOf(tree)])) {
    // One that is not there holds nothing.
    if (await core.storage.exists(place)) bytes += (await core.storage.usage(place)).bytes
  }
  return bytes
}
