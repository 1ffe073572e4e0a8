import type { Inputs } from '../../api/table.ts'
import { settleAll } from '../../domain/settle-all.ts'
import { toAwError } from '../../domain/errors.ts'
import { isWorkspaceId, type WorkspaceId } from '../../domain/ids.ts'
import type { NewEvent } from '../../domain/log/event.ts'
import type { WorkspaceName } from '../../domain/names.ts'
import type { Source } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { discardAndExplain } from '../runs/check.ts'
import { failRequest, firstRun, requestRun, type RunRequest } from '../runs/request.ts'
import { create } from './create.ts'

/** A workspace with a run that waits for it, in the log from the beginning. A fork is there at once. */
export async function createForRun(
  core: Core,
  input: Inputs['run'],
  request: Request,
  asked: RunRequest,
): Promise<{ id: WorkspaceId; notes: readonly string[] }> {
  try {
    const also = (name: WorkspaceName): NewEvent[] => [firstRun(core, request, name, asked)]
    const { id, notes } = await createWithNotes(core, input, request, also)
    if ((await core.store.get(id))?.run === undefined)
      await requestRun(core, request, id, asked).catch(async (error: unknown) => {
        throw await discardAndExplain(core, request, id, error)
      })
    return { id, notes }
  } catch (error) {
    // The workspace is kept, empty: its run has failed.
    const { id } = toAwError(error).data
    if (typeof id === 'string' && isWorkspaceId(id)) await failRequest(core, request, id, asked.run, error)
    throw error
  }
}

/**
 * With what its owner should know before anything runs in it. That takes git longer than a create does, so they go side
 * by side.
 */
export async function createWithNotes(
  core: Core,
  input: Inputs['create'],
  request: Request,
  also?: (name: WorkspaceName) => readonly NewEvent[],
): Promise<{ id: WorkspaceId; source: Source; notes: readonly string[] }> {
  const noting = uncommittedNotes(core, input, request)
  const { id, source } = await settleAll(create(core, input, request, also), noting)
  return { id: id as WorkspaceId, source: source as Source, notes: await noting }
}

/** Who does not say which commit may think that a repository comes as it is now. */
async function uncommittedNotes(
  core: Core,
  { repo, ref }: Inputs['create'],
  { signal }: Request,
): Promise<readonly string[]> {
  if (repo === undefined || ref !== undefined) return []
  // What is wrong with the repository is told by what is made of it.
  const left = await core.repositories.uncommitted(repo, signal).catch(() => undefined)
  if (!left) return []
  const what = left === 1 ? '1 path is' : `${left} paths are`
  return [
    `${what} not committed in ${repo}, and not in the workspace: commit first, or take the folder as it is with --from`,
  ]
}
