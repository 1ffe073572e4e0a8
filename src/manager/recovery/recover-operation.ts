import { isLive, type OperationKind, type Workspace } from '../../domain/workspace/state.ts'
import { ownBase } from '../sources/base-trees.ts'
import type { Core, OperationRef, Recovery, Request } from '../core.ts'
import { closeFailed, createdEvent } from '../workspaces/create.ts'
import { closeLost, finishDestroy } from '../trash/destroy.ts'
import { undoLaunch } from '../sandboxes/start.ts'
import { finishStop } from '../sandboxes/stop.ts'
import { refreshMetadata } from '../kernel/metadata.ts'
import { abandon, append, intentOf, isFenced } from '../kernel/operations.ts'
import { undoArchive } from '../trash/archive-tree.ts'
import { isMoved, putBack, setUpOrphan } from './orphans.ts'
import { dropOwnBase, withoutStaleBase, withOwnBase } from '../sources/own-base.ts'
import { removePlaceholders } from '../sandboxes/placeholders.ts'
import { snapshotPlace, stageOf, trashOf, volumeOf } from '../kernel/places.ts'
import { finishPurge } from '../trash/purge.ts'
import { finishRename, rollBackRename } from '../workspaces/rename.ts'
import { finishRemoval } from '../snapshots/snapshot-remove.ts'
import { finishReset } from '../workspaces/reset.ts'
import { recoverRestore } from '../snapshots/restore-tree.ts'
import { applyKernelLimit, measureImported } from '../space/size-limit.ts'
import { undoSnapshot } from '../snapshots/snapshot.ts'
import { finishUndelete, rollBackUndelete } from '../trash/undelete.ts'

/**
 * What a dead owner began, brought to an end by what is on disk. Create goes back unless users could see it already;
 * reset goes back until the old tree has left its place; all else goes forward, unless something is in the way. Each may
 * be interrupted and repeated.
 */
export const recoverOperation: Recovery = async (core, request, workspace, operation) => {
  const kind = workspace.operation?.kind
  if (kind === undefined) return { workspace, outcome: 'nothing to do' }
  const recovered = await recoveries[kind](core, request, workspace, operation)
  // The dead process may have been in the middle of mounting the tree.
  if (isLive(recovered.workspace.state)) await core.storage.ready(volumeOf(recovered.workspace))
  return recovered
}

/** A tree that the log did not know is at its place: forward, or back to where it was. It is not ours to erase. */
const finishAdoption: Recovery = async (core, request, workspace, operation) => {
  const target = core.storage.attachment(volumeOf(workspace)).path
  try {
    await setUpOrphan(core, workspace)
    await core.host.publish(workspace.path, target)
    const event = createdEvent(
      core,
      request,
      workspace,
      operation,
      await contentOf(core, request, workspace, operation),
    )
    return { workspace: await append(core, request, workspace, [event]), outcome: 'created' }
  } catch (error) {
    if (isFenced(error)) throw error
    await core.host.unpublish(workspace.path, target, core.basePath)
    await putBack(core, workspace)
    return { workspace: await closeFailed(core, request, workspace, operation), outcome: 'undone' }
  }
}

/** As it is now: of what it was made from, nobody is left who knew. */
async function contentOf(core: Core, request: Request, workspace: Workspace, operation: OperationRef) {
  const content = { source: workspace.source, imported: await measureImported(core, workspace) }
  return withOwnBase(core, request, workspace, operation, volumeOf(workspace), content)
}

const recoveries: Readonly<Record<OperationKind, Recovery>> = {
  create: async (core, request, workspace, operation) => {
    const volume = volumeOf(workspace)
    const target = core.storage.attachment(volume).path
    const isTaken = isMoved(workspace.source) && (await core.storage.exists(volume))
    if (isTaken) return finishAdoption(core, request, workspace, operation)
    const seen = (await core.storage.exists(volume)) && (await core.host.published(workspace.path)) === target
    if (seen) {
      // A fork's link may have come before what aw writes into the tree.
      if (workspace.source.kind === 'workspace') {
        const from = { workspace, place: snapshotPlace(workspace.source.snapshot) }
        await removePlaceholders(core, volume, from)
        await applyKernelLimit(core, workspace, volume)
        await refreshMetadata(core, workspace)
      }
      const content = await contentOf(core, request, workspace, operation)
      const event = createdEvent(core, request, workspace, operation, content)
      return { workspace: await append(core, request, workspace, [event]), outcome: 'created' }
    }
    await core.host.unpublish(workspace.path, target, core.basePath)
    await core.storage.erase(volume)
    await core.storage.erase(stageOf(operation))
    await dropOwnBase(core, request, ownBase(operation))
    await core.texts.remove(workspace.id)
    return { workspace: await closeFailed(core, request, workspace, operation), outcome: 'undone' }
  },

  destroy: async (core, request, workspace, operation) => ({
    workspace: await finishDestroy(core, request, workspace, operation),
    outcome: 'destroyed',
  }),

  undelete: async (core, request, workspace, operation) => {
    try {
      return { workspace: await finishUndelete(core, request, workspace, operation), outcome: 'undeleted' }
    } catch (error) {
      if (isFenced(error)) throw error
      await rollBackUndelete(core, workspace)
      return { workspace: await abandon(core, request, workspace, operation, 'undelete', error), outcome: 'undone' }
    }
  },

  purge: async (core, request, workspace, operation) => ({
    workspace: await finishPurge(core, request, workspace, operation),
    outcome: 'purged',
  }),

  rename: async (core, request, workspace, operation) => {
    if (!(await core.storage.exists(volumeOf(workspace))))
      return { workspace: await closeLost(core, request, workspace, operation), outcome: 'lost' }
    try {
      return { workspace: await finishRename(core, request, workspace, operation), outcome: 'renamed' }
    } catch (error) {
      if (isFenced(error)) throw error
      await rollBackRename(core, workspace)
      return { workspace: await abandon(core, request, workspace, operation, 'rename', error), outcome: 'undone' }
    }
  },

  snapshot: async (core, request, workspace, operation) => ({
    workspace: await undoSnapshot(core, request, workspace, operation, intentOf(workspace, 'snapshot')),
    outcome: 'undone',
  }),

  archive: async (core, request, workspace, operation) => {
    await undoArchive(core, workspace, operation)
    const reason = new Error('the process that archived it died before the file was complete')
    return { workspace: await abandon(core, request, workspace, operation, 'archive', reason), outcome: 'undone' }
  },

  launch: async (core, request, workspace, operation) => ({
    workspace: await undoLaunch(core, request, workspace, operation),
    outcome: 'undone',
  }),

  stop: async (core, request, workspace, operation) => ({
    workspace: await finishStop(core, request, workspace, operation),
    outcome: 'stopped',
  }),

  remove_snapshots: async (core, request, workspace, operation) => ({
    workspace: await finishRemoval(core, request, workspace, operation),
    outcome: 'removed',
  }),

  restore: async (core, request, workspace, operation) =>
    (await core.storage.exists(volumeOf(workspace)))
      ? recoverRestore(core, request, workspace, operation)
      : { workspace: await closeLost(core, request, workspace, operation), outcome: 'lost' },

  reset: async (core, request, workspace, operation) => {
    const [volume, old] = [volumeOf(workspace), trashOf(intentOf(workspace, 'reset').tree)]
    const moved = await core.storage.exists(old)
    const there = await core.storage.exists(volume)
    if (!moved && !there) return { workspace: await closeLost(core, request, workspace, operation), outcome: 'lost' }
    const rebuilt = there || (await core.storage.exists(stageOf(operation)))
    if (moved && rebuilt) {
      const anew = { source: withoutStaleBase(workspace.source), imported: workspace.imported }
      const place = there ? volume : stageOf(operation)
      const content = await withOwnBase(core, request, workspace, operation, place, anew)
      return { workspace: await finishReset(core, request, workspace, operation, content), outcome: 'reset' }
    }
    // Nobody has the new tree, or not all of it: the old one is the workspace.
    if (moved) await core.storage.move(old, volume)
    await core.storage.erase(stageOf(operation))
    await dropOwnBase(core, request, ownBase(operation))
    const reason = new Error('the process that reset it died before the new tree was ready')
    return { workspace: await abandon(core, request, workspace, operation, 'reset', reason), outcome: 'undone' }
  },
}
