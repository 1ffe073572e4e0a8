import type { Inputs, Outputs } from '../../api/table.ts'
import { toAwError } from '../../domain/errors.ts'
import { nameOf } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { checkpointSignal } from '../kernel/operations.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { meansSnapshot, operandOf } from '../diff/operands.ts'
import { snapshotsOf } from './lookup.ts'

/** Reads every snapshot whole. One that cannot be read is a finding, not an error. */
export async function verify(core: Core, input: Inputs['verify'], request: Request): Promise<Outputs['verify']> {
  const { workspaces, only } = await chosen(core, input.id)
  const results: Outputs['verify']['snapshots'][number][] = []
  for (const workspace of workspaces) {
    for (const { snapshot } of (await snapshotsOf(core, workspace.id)).values()) {
      if (only !== null && snapshot !== only) continue
      checkpointSignal(request)
      const checked = await core.storage
        .verify(snapshotPlace(snapshot), { signal: request.signal })
        .catch((error: unknown) => unreadable(error))
      results.push({ snapshot, workspace: nameOf(workspace), ...checked, problems: [...checked.problems] })
      request.onProgress?.({ phase: 'checking', files: results.length })
    }
  }
  return { intact: verdict(results), snapshots: results }
}

/** All of them, those of a workspace, or a single one. */
async function chosen(core: Core, ref: string | undefined) {
  if (ref === undefined) return { workspaces: await core.store.list(), only: null }
  if (!ref.includes('@') && !(await meansSnapshot(core, ref)))
    return { workspaces: [await findWorkspace(core, ref)], only: null }
  const { workspace, snapshot } = await operandOf(core, ref)
  return { workspaces: [workspace], only: snapshot }
}

/** Null: there are some, and nothing to compare any of them with. */
function verdict(results: Outputs['verify']['snapshots']): boolean | null {
  if (results.some(({ problems }) => problems.length > 0)) return false
  return results.length > 0 && results.every(({ method }) => method === 'none') ? null : true
}

function unreadable(error: unknown) {
  const { code, message } = toAwError(error)
  if (code === 'aborted' || code === 'storage_unavailable') throw error
  return { method: 'none' as const, files: 0, bytes: 0, problems: [{ path: '', message }] }
}
