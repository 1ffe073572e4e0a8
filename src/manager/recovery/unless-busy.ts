import { toAwError } from '../../domain/errors.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { withWorkspace } from '../kernel/operations.ts'

/** Busy workspaces are somebody's business already: for them the answer is `otherwise`. */
export async function unlessBusy<T>(
  core: Core,
  request: Request,
  id: WorkspaceId,
  work: (workspace: Workspace) => Promise<T>,
  otherwise: T,
): Promise<T> {
  try {
    return await withWorkspace(core, request, id, work)
  } catch (error) {
    if (toAwError(error).code === 'workspace_busy') return otherwise
    throw error
  }
}
