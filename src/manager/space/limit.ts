import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { refreshMetadata } from '../kernel/metadata.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { volumeOf } from '../kernel/places.ts'
import { gradeOf, grownBytes, maxBytesOf, roomLeftIn } from './size-limit.ts'
import { updateSandboxLimits } from './size-watch.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

/** Changes what a workspace may hold beyond what it began as. The same again sees to it that the kernel knows. */
export async function limit(core: Core, input: Inputs['limit'], request: Request): Promise<WorkspaceView> {
  const found = await findWorkspace(core, input.id)
  if (input.size === undefined) return limited(core, found)
  const max_size_mb = input.size === 'none' ? 0 : megabytesOf(input.size)
  return withWorkspace(core, request, found.id, async (workspace) => {
    assertAllowed(workspace, 'limit')
    const room = await roomLeft(core, workspace, max_size_mb)
    const isSame = workspace.config.max_size_mb === max_size_mb
    const event = newEvent(core, request, 'workspace_limit_set', { ...nameFields(workspace), max_size_mb })
    const changed = isSame ? workspace : await append(core, request, workspace, [event])
    if (core.storage.capabilities.quota === 'kernel') await core.storage.limit(volumeOf(workspace), room)
    await updateSandboxLimits(core, changed)
    if (!isSame) await refreshMetadata(core, changed)
    return limited(core, changed)
  })
}

const limited = async (core: Core, workspace: Workspace): Promise<WorkspaceView> => ({
  ...view(core, workspace),
  size_limit: { mb: workspace.config.max_size_mb, grade: await gradeOf(core, workspace) },
})

/**
 * What the kernel is to let it add under a limit; null for none. It knows what was added under the limit before. If that
 * limit is the same one, it may be what a process that died left of an earlier one: then what the files hold counts.
 */
async function roomLeft(core: Core, workspace: Workspace, mb: number): Promise<number | null> {
  if (mb === 0 || core.storage.capabilities.quota !== 'kernel') return null
  const before = maxBytesOf(workspace)
  const room = await roomLeftIn(core, workspace)
  const counted = room === null || before === 0 ? null : Math.max(0, before - room)
  const isSure = counted !== null && before !== mb * 2 ** 20
  const known = [counted, isSure ? null : await grownBytes(core, workspace)].filter((bytes) => bytes !== null)
  const grown = known.length === 0 ? 0 : Math.min(...known)
  return mb * 2 ** 20 - grown
}

function megabytesOf(text: string): number {
  const mb = /^\d{1,12}$/.test(text) ? Number(text) : undefined
  if (mb !== undefined) return mb
  throw new AwError('invalid_input', `${JSON.stringify(text)} is no size limit`, {
    hint: 'Give it in MB, as 2000, or none',
    data: { field: 'size' },
  })
}
