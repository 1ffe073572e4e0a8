import type { Inputs } from '../../api/table.ts'
import { parseDuration } from '../../domain/text/duration.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

/** When the time is over that something is needed for. */
export const expiryOf = (core: Core, duration: string, field = 'ttl'): string =>
  new Date(core.clock.now().getTime() + parseDuration(duration, field)).toISOString()

/** Says how long a workspace is still needed. Without a duration it only looks. */
export async function ttl(core: Core, input: Inputs['ttl'], request: Request): Promise<WorkspaceView> {
  const found = await findWorkspace(core, input.id)
  if (input.duration === undefined) return view(core, found)
  const expires_at = input.duration === 'none' ? null : expiryOf(core, input.duration, 'duration')
  return withWorkspace(core, request, found.id, async (workspace) => {
    assertAllowed(workspace, 'ttl')
    const event = newEvent(core, request, 'workspace_ttl_set', { ...nameFields(workspace), expires_at })
    return view(core, await append(core, request, workspace, [event]))
  })
}
