import type { Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { volumeOf } from '../kernel/places.ts'
import type { UndoLog } from '../kernel/rollback.ts'

/** Makes the link by which users find a workspace's tree. */
export async function publish(core: Core, workspace: Workspace, undo: UndoLog): Promise<void> {
  const target = core.storage.attachment(volumeOf(workspace)).path
  undo.add(() => core.host.unpublish(workspace.path, target, core.basePath))
  await core.host.publish(workspace.path, target)
}
