import type { Inputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { isWorkspaceId } from '../../domain/ids.ts'
import { formatName, parseName, type WorkspaceName } from '../../domain/names.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { isRestorable, nameOf, repositoryField, type Workspace } from '../../domain/workspace/state.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { createFrom } from '../workspaces/create.ts'
import { closeLost } from './destroy.ts'
import { findTrashed } from '../kernel/find.ts'
import { fork } from '../snapshots/fork.ts'
import { refreshMetadata } from '../kernel/metadata.ts'
import { append, begin, intentOf, isFenced, nameFields, rollBack, withWorkspace } from '../kernel/operations.ts'
import { erasingOf, pathOf, trashOf, volumeOf } from '../kernel/places.ts'
import { settleDestroyed } from './settle-destroyed.ts'
import { snapshotsOf } from '../snapshots/lookup.ts'
import { revokeTokensOf } from './token-revocation.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

export async function undelete(core: Core, input: Inputs['undelete'], request: Request): Promise<WorkspaceView> {
  const replaced = /^(ws_[0-9a-z]+)\.(\d+)$/.exec(input.id)
  if (replaced !== null) return undeleteTree(core, input, request, replaced[1] ?? '')
  const found = await findTrashed(core, input.id)
  if (isRestorable(found)) return recreateFromSnapshot(core, input, request, found)
  const { id } = found
  return withWorkspace(core, request, id, async (workspace) => {
    // Whoever had the lock before has erased what was found.
    if (found.state === 'trashed' && workspace.state === 'purged') throw gone(workspace)
    assertAllowed(workspace, 'undelete')
    const name = input.as === undefined ? workspace : parseName(input.as)
    return view(
      core,
      await bringBack(core, request, workspace, name).catch((error: unknown) => Promise.reject(nameTaken(id, error))),
    )
  })
}

/** By its name it would be another one, once what has the name now is destroyed. */
function nameTaken(id: string, error: unknown): unknown {
  const { code, message, data } = toAwError(error)
  if (code !== 'workspace_exists') return error
  return new AwError(code, message, { hint: `Bring it back under another name: aw undelete ${id} --as NAME`, data })
}

/** The tree is lost, so what comes back is its last snapshot, as a fork; the others stay with what was lost. */
async function recreateFromSnapshot(
  core: Core,
  input: Inputs['undelete'],
  request: Request,
  lost: Workspace,
): Promise<WorkspaceView> {
  const all = await snapshotsOf(core, lost.id)
  // A fork that was never kept, or was put back to what it began as, stands at a snapshot of another workspace.
  const at = lost.head !== null && all.has(lost.head) ? lost.head : [...all.keys()].at(-1)
  const name = input.as === undefined ? formatName(lost) : input.as
  const { forks } = await fork(core, { id: lost.id, to: [name], at }, request).catch(async (error: unknown) => {
    const now = await core.store.get(lost.id)
    throw now !== undefined && isRestorable(now) ? error : gone(lost)
  })
  const made = forks[0]?.workspace
  if (made == null) throw gone(lost)
  return made
}

/** A tree of a workspace that may be live again: it comes back as a new workspace, and the trash keeps it too. */
async function undeleteTree(
  core: Core,
  input: Inputs['undelete'],
  request: Request,
  id: string,
): Promise<WorkspaceView> {
  const workspace = isWorkspaceId(id) ? await core.store.get(id) : undefined
  const entry = workspace?.trash.find(({ tree }) => tree === input.id)
  if (workspace === undefined || entry === undefined) throw noTree(input.id)
  if (workspace.state === 'trashed' && entry.reason !== 'reset') {
    return undelete(core, { ...input, id: workspace.id }, request)
  }
  if (input.as === undefined) {
    throw new AwError('invalid_input', `${input.id} was replaced by a reset, so it comes back as a new workspace`, {
      hint: `Give it a name: aw undelete ${input.id} --as TASK/AGENT`,
      data: { field: 'as' },
    })
  }
  const labels = workspace.labels
  const config = { max_size_mb: workspace.config.max_size_mb, allowed_operations: workspace.config.allowed_operations }
  const settings = { id: input.as, profile: workspace.profile, labels, config }
  const source = { kind: 'trash' as const, tree: input.id, ...repositoryField(workspace) }
  const made = await createFrom(core, settings, source, request).catch(async (error: unknown) => {
    const now = await core.store.get(workspace.id)
    throw now?.trash.some(({ tree }) => tree === input.id) === true ? error : noTree(input.id)
  })
  return view(core, made)
}

const noTree = (tree: string): AwError =>
  new AwError('workspace_not_found', `There is no tree ${tree} in the trash`, {
    hint: 'See what is there: aw list --trashed, or aw show',
    data: { tree },
  })

async function bringBack(core: Core, request: Request, workspace: Workspace, name: WorkspaceName): Promise<Workspace> {
  const newest = workspace.trash.findLast(({ reason }) => reason !== 'reset')
  if (newest === undefined) throw gone(workspace)
  if (await core.storage.exists(erasingOf(newest.tree))) throw halfErased(workspace)
  await settleDestroyed(core, workspace)
  const started = await begin(core, request, workspace, 'workspace_undelete_started', 'undelete', {
    ...nameFields(name),
    workspace_path: pathOf(core, name),
    tree: newest.tree,
  })
  const back = await finishUndelete(core, request, started.workspace, started.operation).catch(
    async (error: unknown) => {
      if (isFenced(error)) throw error
      await rollBack(core, request, started, 'undelete', error, () => rollBackUndelete(core, started.workspace))
      throw error
    },
  )
  if (back.state !== 'ready' && back.state !== 'failed') throw gone(back)
  return back
}

const halfErased = (workspace: Workspace): AwError =>
  new AwError('workspace_not_found', `${nameOf(workspace)} was being erased, and part of it is gone`, {
    hint: `Erase the rest with: aw purge ${workspace.id}`,
    data: { id: workspace.id },
  })

function gone(workspace: Workspace): AwError {
  const older = workspace.trash.at(-1)
  const hint = older === undefined ? {} : { hint: `An older tree is there: aw undelete ${older.tree} --as TASK/AGENT` }
  return new AwError('workspace_not_found', `The last tree of ${nameOf(workspace)} is not in the trash any more`, {
    ...hint,
    data: { id: workspace.id },
  })
}

/** Forward from any point: the tree is in the trash or already back. */
export async function finishUndelete(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const { tree } = intentOf(workspace, 'undelete')
  const volume = volumeOf(workspace)
  if (await core.storage.exists(trashOf(tree))) await core.storage.move(trashOf(tree), volume)
  if (!(await core.storage.exists(volume))) return closeLost(core, request, workspace, operation)
  await revokeTokensOf(core, request, workspace.id)
  const problem = (await refreshMetadata(core, workspace)) ?? (await stillMissing(core, workspace))
  await core.host.publish(workspace.path, core.storage.attachment(volume).path)
  const data = { ...nameFields(workspace), workspace_path: workspace.path, tree, ...(problem && { problem }) }
  return append(core, request, workspace, [newEvent(core, request, 'workspace_undeleted', data, operation)])
}

/** Why a workspace was empty that waited for its source when it was destroyed: it still does. */
async function stillMissing({ store }: Core, { id, source }: Workspace): Promise<Workspace['problem']> {
  let problem: Workspace['problem'] = null
  if (source.kind !== 'git') return problem
  for await (const event of store.read(id)) {
    if (event.type === 'workspace_source_failed') problem = event.data.problem
    if (event.type === 'workspace_reset') problem = null
  }
  return problem
}

export async function rollBackUndelete(core: Core, workspace: Workspace): Promise<void> {
  const { tree } = intentOf(workspace, 'undelete')
  const volume = volumeOf(workspace)
  await core.host.unpublish(workspace.path, core.storage.attachment(volume).path, core.basePath)
  if (await core.storage.exists(trashOf(tree))) return
  if (await core.storage.exists(volume)) await core.storage.move(volume, trashOf(tree))
}
