import type { Inputs, Outputs } from '../../api/table.ts'
import { toAwError } from '../../domain/errors.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { Snapshot } from '../../domain/workspace/snapshots.ts'
import { baseNameOf, isLive, isRestorable, type Workspace } from '../../domain/workspace/state.ts'
import { assertTreesUnused } from '../kernel/activity.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { findTrashed } from '../kernel/find.ts'
import { append, begin, intentOf, isFenced, nameFields, rollBack, withWorkspace } from '../kernel/operations.ts'
import { dropOwnBase } from '../sources/own-base.ts'
import { eraseAll, erasingOf, snapshotPlace, trashOf } from '../kernel/places.ts'
import { settleDestroyed } from './settle-destroyed.ts'
import { forksOf, snapshotsOf } from '../snapshots/lookup.ts'

export async function purge(core: Core, input: Inputs['purge'], request: Request): Promise<Outputs['purge']> {
  try {
    // What is erased cannot be had back: nobody guesses.
    const { id } = await findTrashed(core, input.id, { only: true })
    return await withWorkspace(core, request, id, async (workspace) => {
      if (!isRestorable(workspace)) assertAllowed(workspace, 'purge')
      await settleDestroyed(core, workspace)
      await assertTreesUnused(core, workspace, input)
      const trees = workspace.trash.map(({ tree }) => tree)
      const bytes = await bytesOf(core, trees)
      await purgeTrees(core, request, workspace, trees, { wanted: true })
      return { purged: true, bytes }
    })
  } catch (error) {
    if (input.if_exists === true && toAwError(error).code === 'workspace_not_found') return { purged: false, bytes: 0 }
    throw error
  }
}

/**
 * Erases trees of a workspace for good. Needs its lock.
 *
 * @param options.wanted somebody wants it gone: so do the snapshots of a lost one, which stay else
 */
export async function purgeTrees(
  core: Core,
  request: Request,
  workspace: Workspace,
  trees: string[],
  { wanted = false } = {},
): Promise<Workspace> {
  await settleDestroyed(core, workspace)
  const isLast = isLastOf(workspace, trees) && (wanted || !isRestorable(workspace))
  // With its last tree go the snapshots of a workspace, but for those that forks began as.
  const snapshots = isLast ? await unforked(core, (await snapshotsOf(core, workspace.id)).values()) : []
  const data = { ...nameFields(workspace), trees, snapshots: snapshots.map(({ snapshot }) => snapshot) }
  const started = await begin(core, request, workspace, 'workspace_purge_started', 'purge', data)
  try {
    return await finishPurge(core, request, started.workspace, started.operation)
  } catch (error) {
    // What cannot be erased must not keep the workspace busy: the next purge, gc or recover tries again.
    if (!isFenced(error)) await rollBack(core, request, started, 'purge', error)
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
  const hasMore = isRestorable(workspace) && workspace.snapshots.all > snapshots.length
  if (isLastOf(workspace, trees) && !hasMore) {
    await core.texts.remove(workspace.id)
    await core.variables.write(workspace.id, {})
    await core.requests.remove(workspace.id)
    await core.agents.remove(workspace.id)
    await dropOwnBase(core, request, baseNameOf(workspace))
    for await (const { data } of core.store.read(workspace.id, { types: ['run_requested'] })) {
      if (!('run' in data)) continue
      await core.texts.remove(data.run)
      await core.logs.remove(data.run)
    }
  }
  if (!isLive(workspace.state)) await core.sizes.remove(workspace.id)
  return append(core, request, workspace, [
    newEvent(core, request, 'workspace_purged', { ...nameFields(workspace), trees, snapshots }, operation),
  ])
}

const isLastOf = ({ state, trash }: Workspace, trees: readonly string[]): boolean =>
  !isLive(state) && trash.every(({ tree }) => trees.includes(tree))

/** Those of them that no other workspace needs. */
export async function unforked(core: Core, snapshots: Iterable<Snapshot>): Promise<Snapshot[]> {
  const found: Snapshot[] = []
  for (const one of snapshots) if ((await forksOf(core, one.snapshot)).length === 0) found.push(one)
  return found
}

async function bytesOf(core: Core, trees: readonly string[]): Promise<number> {
  let bytes = 0
  for (const place of trees.flatMap((tree) => [trashOf(tree), erasingOf(tree)])) {
    // One that is not there holds nothing; one that cannot be looked into goes all the same.
    if (!(await core.storage.exists(place))) continue
    bytes += (await core.storage.usage(place).catch(() => ({ bytes: 0 }))).bytes
  }
  return bytes
}
