import type { Operation, Reference } from '../api/operation.ts'
import type { Outputs } from '../api/table.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import { isRunId, isSnapshotId } from '../domain/ids.ts'
import { formatName, parseName } from '../domain/names.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { reaches, type Principal } from './principal.ts'

type View = Outputs['show']

/**
 * Puts the ids of the workspaces in the place of their names, so that what was looked at is what is acted on. One that
 * the principal does not reach is as unknown as one that is not there: the same error, after the same look.
 *
 * @returns the input, and a look at the workspace that it is about, if that is there
 */
export async function pinReferences(
  manager: Manager,
  principal: Principal,
  { names = {} }: Operation,
  input: Record<string, unknown>,
  context: CallContext | undefined,
): Promise<{ input: Record<string, unknown>; view: View | undefined }> {
  const result = { ...input }
  let view: View | undefined
  for (const [field, kind] of Object.entries(names)) {
    const value = input[field]
    if (value === undefined) continue
    const seen: View[] = []
    const pin = async (ref: unknown): Promise<string> => {
      const found = await pinOne(manager, principal, kind, String(ref), context)
      if (found.view !== undefined) seen.push(found.view)
      return found.ref
    }
    result[field] = Array.isArray(value) ? await Promise.all(value.map(pin)) : await pin(value)
    if (field === 'id') view = seen[0]
  }
  return { input: result, view }
}

async function pinOne(
  manager: Manager,
  principal: Principal,
  kind: Reference,
  ref: string,
  context: CallContext | undefined,
): Promise<{ ref: string; view?: View }> {
  if (kind === 'new') return pinNew(manager, principal, ref, context)
  if (kind === 'trash') return pinTrashed(manager, principal, ref, context)
  const [workspace = '', ...rest] = kind === 'tree' ? ref.split('@') : [ref]
  // Whose it is would have to be looked for among all workspaces.
  if (kind === 'tree' && isSnapshotId(ref) && principal.workspaces !== null) throw unknown(ref)
  if (kind === 'tree' && isSnapshotId(ref)) return { ref }
  const view = await showIfPresent(manager, workspace, context)
  if (view === undefined || !reaches(principal, { id: view.id, name: view.workspace_id })) throw unknown(workspace)
  // A run is of one workspace for ever, and is told from others of it by its id alone.
  const isOfRun = isRunId(workspace) && view.workspace_id !== formatName(parseName(workspace))
  return { ref: [isOfRun ? workspace : view.id, ...rest].join('@'), view }
}

async function pinNew(manager: Manager, principal: Principal, ref: string, context: CallContext | undefined) {
  const view = await showIfPresent(manager, ref, context)
  if (view !== undefined && reaches(principal, { id: view.id, name: view.workspace_id })) return { ref, view }
  // An id that is not there cannot be made.
  if (ref.startsWith('ws_')) throw unknown(ref)
  if (reaches(principal, { name: formatName(parseName(ref)) })) return { ref }
  throw new AwError('permission_denied', `This token may not make a workspace with the name ${ref}`, {
    data: { workspace: ref },
  })
}

async function pinTrashed(manager: Manager, principal: Principal, ref: string, context: CallContext | undefined) {
  if (!ref.startsWith('ws_')) {
    if (reaches(principal, { name: formatName(parseName(ref)) })) return { ref }
    throw unknown(ref)
  }
  const view = await showIfPresent(manager, ref.split('.')[0] ?? ref, context)
  if (view === undefined || !reaches(principal, { id: view.id, name: view.workspace_id })) throw unknown(ref)
  return { ref }
}

async function showIfPresent(
  manager: Manager,
  ref: string,
  context: CallContext | undefined,
): Promise<View | undefined> {
  try {
    return await manager.call('show', { id: ref }, { signal: context?.signal })
  } catch (error) {
    if (toAwError(error).code === 'workspace_not_found') return undefined
    throw error
  }
}

const unknown = (ref: string): AwError =>
  new AwError('workspace_not_found', `There is no workspace ${ref}`, { data: { workspace: ref } })
