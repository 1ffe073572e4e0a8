import { AwError } from '../../domain/errors.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { Lease } from '../../ports/event-store.ts'
import type { Core, Request } from '../core.ts'

/** How exactly it is known when a holder was last active. Not each write is worth a write to the log's disk. */
const activityGranularityMs = 1000

export const isHeld = (core: Core, lease: Lease | undefined): lease is Lease =>
  lease !== undefined && Date.parse(lease.expires_at) > core.clock.now().getTime()

/**
 * Whoever acts under a lease acts only as long as it is theirs: one who was away for too long must not write over what
 * the next holder does. Without a lease nothing is asked. Under the lock of the workspace nobody takes it over meanwhile.
 */
export async function assertLease(core: Core, { lease: given }: Request, id: WorkspaceId, name: string): Promise<void> {
  if (given === undefined) return
  const current = await core.store.lease(id)
  if (!isHeld(core, current) || current.id !== given) throw lost(core, current, id, name)
  const now = core.clock.now()
  if (now.getTime() - Date.parse(current.active_at) < activityGranularityMs) return
  if ((await core.store.touchLease(id, current.id, now.toISOString())) === undefined)
    throw lost(core, await core.store.lease(id), id, name)
}

function lost(core: Core, current: Lease | undefined, id: WorkspaceId, name: string): AwError {
  const other = isHeld(core, current) ? current : undefined
  return new AwError(
    'lease_lost',
    other === undefined
      ? `The lease on ${name} has expired or was given back`
      : `The lease on ${name} is not yours any more: ${other.holder} has one since ${other.acquired_at}`,
    {
      hint:
        other === undefined
          ? `Look at what has changed, then take it again: aw lease acquire ${name} --holder NAME`
          : 'Stop writing to it; look at what has changed before you take it again',
      data: { id, lease: other === undefined ? null : { holder: other.holder, acquired_at: other.acquired_at } },
    },
  )
}
