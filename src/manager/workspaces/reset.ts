import type { Inputs } from '../../api/table.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { baseNameOf, type Workspace } from '../../domain/workspace/state.ts'
import { assertUnused } from '../kernel/activity.ts'
import { plannedBlocks } from './agent-blocks.ts'
import { buildTree } from './build.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { closeLostRuns } from '../recovery/boxes.ts'
import { restarted } from '../sandboxes/start.ts'
import { endBoxes } from '../sandboxes/stop.ts'
import { readDocuments } from '../kernel/metadata.ts'
import { append, begin, intentOf, isFenced, nameFields, rollBack, withWorkspace } from '../kernel/operations.ts'
import { noBaseline } from '../recovery/orphans.ts'
import { dropOwnBase } from '../sources/own-base.ts'
import { stageOf, trashOf, treeName, volumeOf } from '../kernel/places.ts'
import { undoLog } from '../kernel/rollback.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

/** A fresh tree from the same source; nothing of the old one leaks into it, and the old one is in the trash. */
export async function reset(core: Core, input: Inputs['reset'], request: Request): Promise<WorkspaceView> {
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (workspace) => {
    assertAllowed(workspace, 'reset')
    if (workspace.source.kind === 'orphan') throw noBaseline(workspace.source)
    const current = await closeLostRuns(core, request, workspace)
    await assertUnused(core, current, { ...input, lease: request.lease, signal: request.signal })
    const quiet = await endBoxes(core, request, current, 'reset')
    return view(core, await restarted(core, request, current, await resetUnderLock(core, request, quiet)))
  })
}

async function resetUnderLock(core: Core, request: Request, workspace: Workspace): Promise<Workspace> {
  const { workspace: begun, operation } = await begin(core, request, workspace, 'workspace_reset_started', 'reset', {
    ...nameFields(workspace),
    workspace_path: workspace.path,
    generation: workspace.generation + 1,
    tree: treeName(workspace),
    ...(await plannedBlocks(core, workspace, await readDocuments(core, workspace))),
  })
  const undo = undoLog()
  try {
    const content = await buildTree(core, request, begun, operation, undo)
    // If we die from here on, recovery goes forward.
    undo.add(() => swapBack(core, workspace, operation))
    await core.storage.move(volumeOf(workspace), trashOf(treeName(workspace)))
    const done = await finishReset(core, request, begun, operation, content)
    undo.keep()
    return done
  } catch (error) {
    if (isFenced(error)) throw error
    const failures = await undo.run()
    if (failures.length === 0) await rollBack(core, request, { workspace: begun, operation }, 'reset', error)
    throw error
  }
}

/** The new tree, if it stands at the place already, goes back to where it was built; the old one returns. */
async function swapBack(core: Core, workspace: Workspace, operation: OperationRef): Promise<void> {
  const [volume, old] = [volumeOf(workspace), trashOf(treeName(workspace))]
  if (!(await core.storage.exists(old))) return
  if (await core.storage.exists(volume)) await core.storage.move(volume, stageOf(operation))
  await core.storage.move(old, volume)
}

/** The old tree is in the trash; the new one is in `tmp` or already at its place. */
export async function finishReset(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  { source, imported }: Pick<Workspace, 'source' | 'imported'> = workspace,
): Promise<Workspace> {
  const { generation, tree } = intentOf(workspace, 'reset')
  if (!(await core.storage.exists(volumeOf(workspace))))
    await core.storage.move(stageOf(operation), volumeOf(workspace))
  const data = { ...nameFields(workspace), workspace_path: workspace.path, generation, tree, source, imported }
  const done = await append(core, request, workspace, [newEvent(core, request, 'workspace_reset', data, operation)])
  // The tree in the trash is compared with it no more. If it cannot go now, gc removes it.
  if (baseNameOf(done) !== baseNameOf(workspace))
    await dropOwnBase(core, request, baseNameOf(workspace)).catch(() => undefined)
  return done
}
