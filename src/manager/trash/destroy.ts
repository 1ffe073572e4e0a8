import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { type CleanupReason, isLive, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { assertUnused } from '../kernel/activity.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace, notFound } from '../kernel/find.ts'
import { closeLostRuns } from '../recovery/boxes.ts'
import { endBoxes } from '../sandboxes/stop.ts'
import {
  append,
  begin,
  intentFlushed,
  intentOf,
  isFenced,
  nameFields,
  rollBack,
  withWorkspace,
} from '../kernel/operations.ts'
import { trashOf, treeName, volumeOf } from '../kernel/places.ts'
import { purgeTrees } from './purge.ts'
import { revokeTokensOf } from './token-revocation.ts'
import { view } from '../kernel/view.ts'

export async function destroy(core: Core, input: Inputs['destroy'], request: Request): Promise<Outputs['destroy']> {
  try {
    const { id } = await findWorkspace(core, input.id)
    const destroyed = await withWorkspace(core, request, id, async (workspace) => {
      const trashed = await destroyUnderLock(core, input, workspace, request)
      return input.purge === true ? purgeTrees(core, request, trashed, allTrees(trashed)) : trashed
    })
    return { removed: true, workspace: view(core, destroyed) }
  } catch (error) {
    if (input.if_exists === true && toAwError(error).code === 'workspace_not_found') return { removed: false }
    throw error
  }
}

const allTrees = (workspace: Workspace): string[] => workspace.trash.map(({ tree }) => tree)

type Destroying = Omit<Inputs['destroy'], 'reason'> & { readonly reason?: CleanupReason | undefined }

/** Moves it to the trash. Needs its lock. */
export async function destroyUnderLock(
  core: Core,
  input: Destroying,
  workspace: Workspace,
  request: Request,
): Promise<Workspace> {
  if (!isLive(workspace.state)) throw await notFound(core, input.id)
  assertAllowed(workspace, 'destroy')
  const current = await closeLostRuns(core, request, workspace)
  await assertUnused(core, current, { ...input, lease: request.lease, signal: request.signal })
  const quiet = await endBoxes(core, request, current, 'destroy')
  const intent = {
    ...nameFields(workspace),
    workspace_path: workspace.path,
    cleanup_reason: input.reason ?? 'user',
    tree: treeName(workspace),
  }
  const started = await begin(core, request, quiet, 'workspace_destroy_started', 'destroy', intent, { later: true })
  try {
    return await finishDestroy(core, request, started.workspace, started.operation)
  } catch (error) {
    if (isFenced(error)) throw error
    // It stays `destroying`, and says why; destroying it again, or aw recover, goes on from here.
    await rollBack(core, request, started, 'destroy', error)
    throw new AwError(
      'cleanup_failed',
      `${nameOf(workspace)} could not be moved to the trash: ${toAwError(error).message}`,
      {
        hint: `Remove the cause, then: aw destroy ${nameOf(workspace)}`,
        data: { id: workspace.id, reason: toAwError(error).code },
        cause: error,
      },
    )
  }
}

/** The tree leaves its path and goes to the trash, whole. Safe to repeat from any point. */
export async function finishDestroy(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const intent = intentOf(workspace, 'destroy')
  const volume = volumeOf(workspace)
  const noted = intentFlushed(core)
  await revokeTokensOf(core, request, workspace.id)
  await noted
  await core.host.unpublish(workspace.path, core.storage.attachment(volume).path, core.basePath)
  if (await core.storage.exists(volume)) await core.storage.move(volume, trashOf(intent.tree), { later: true })
  if (!(await core.storage.exists(trashOf(intent.tree)))) return closeLost(core, request, workspace, operation)
  const event = newEvent(
    core,
    request,
    'workspace_cleanup',
    {
      ...nameFields(workspace),
      workspace_path: workspace.path,
      cleanup_reason: intent.cleanup_reason,
      tree: intent.tree,
    },
    operation,
  )
  return append(core, request, workspace, [event])
}

/** Somebody removed the tree from outside: the log says so and the workspace is closed; trees in the trash stay. */
export async function closeLost(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef | null,
): Promise<Workspace> {
  const reason = 'its tree is not on disk; something other than aw removed it'
  await revokeTokensOf(core, request, workspace.id)
  const target = core.storage.attachment(volumeOf(workspace)).path
  const was = workspace.operation?.intent['was'] as { path: string } | undefined
  // A link to nothing would keep the name from being used again.
  for (const path of [workspace.path, was?.path ?? workspace.path])
    await core.host.unpublish(path, target, core.basePath)
  const event = newEvent(
    core,
    request,
    'workspace_lost',
    { ...nameFields(workspace), workspace_path: workspace.path, reason },
    operation,
  )
  // Its texts stay: a tree that turns up again needs them.
  return append(core, request, workspace, [event])
}
