import type { Inputs } from '../../api/table.ts'
import { parseName, type WorkspaceName } from '../../domain/names.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { assertUnused } from '../kernel/activity.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { refreshMetadata } from '../kernel/metadata.ts'
import { append, begin, intentOf, isFenced, nameFields, rollBack, withWorkspace } from '../kernel/operations.ts'
import { pathOf, volumeOf } from '../kernel/places.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

/** The tree stays where it is; its name and the link by which users find it change. */
export async function rename(core: Core, input: Inputs['rename'], request: Request): Promise<WorkspaceView> {
  const to = parseName(input.to)
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (workspace) => {
    assertAllowed(workspace, 'rename')
    if (nameOf(workspace) === nameOf(to)) return view(core, workspace)
    await assertUnused(core, workspace, { ...input, lease: request.lease, signal: request.signal })
    return view(core, await renameUnderLock(core, request, workspace, to))
  })
}

/** The same name at the path that it has now. Needs the lock. */
export const relocate = (core: Core, request: Request, workspace: Workspace): Promise<Workspace> =>
  renameUnderLock(core, request, workspace, workspace)

async function renameUnderLock(
  core: Core,
  request: Request,
  workspace: Workspace,
  to: WorkspaceName,
): Promise<Workspace> {
  const started = await begin(core, request, workspace, 'workspace_rename_started', 'rename', {
    ...nameFields(workspace),
    workspace_path: workspace.path,
    to_task_id: to.task,
    to_agent_id: to.agent,
    to_path: pathOf(core, to),
  })
  try {
    return await finishRename(core, request, started.workspace, started.operation)
  } catch (error) {
    if (isFenced(error)) throw error
    await rollBack(core, request, started, 'rename', error, () => rollBackRename(core, started.workspace))
    throw error
  }
}

/** Both links lead to the tree for an instant; never none. */
export async function finishRename(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const { was } = intentOf(workspace, 'rename')
  const target = core.storage.attachment(volumeOf(workspace)).path
  await core.host.publish(workspace.path, target)
  const problem = await refreshMetadata(core, workspace)
  await core.host.unpublish(was.path, target, core.basePath)
  const data = {
    ...nameFields(workspace),
    workspace_path: workspace.path,
    from: nameOf(was),
    ...(problem && { problem }),
  }
  return append(core, request, workspace, [newEvent(core, request, 'workspace_renamed', data, operation)])
}

export async function rollBackRename(core: Core, workspace: Workspace): Promise<void> {
  const { was } = intentOf(workspace, 'rename')
  const target = core.storage.attachment(volumeOf(workspace)).path
  // If something else is at the old path by now, aw recover makes the link when it is gone.
  await core.host.publish(was.path, target).catch(() => undefined)
  await core.host.unpublish(workspace.path, target, core.basePath)
  if (!(await core.storage.exists(volumeOf(workspace)))) return
  await refreshMetadata(core, { ...workspace, ...was })
}
