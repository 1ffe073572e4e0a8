import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { LeaseId } from '../../domain/ids.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Lease } from '../../ports/event-store.ts'
import { newEvent, newId, type Core, type Request, withoutLease } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { isHeld } from './lease-fence.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'

const defaultTtlMs = 60_000

/** About a lease, not under it: which one the caller has had so far does not matter. */
export const withLeases = <T>(
  core: Core,
  request: Request,
  id: Workspace['id'],
  work: (workspace: Workspace) => Promise<T>,
) => withWorkspace(core, withoutLease(request), id, work)

export async function acquireLease(
  core: Core,
  input: Inputs['lease acquire'],
  request: Request,
): Promise<Outputs['lease acquire']> {
  const { id } = await findWorkspace(core, input.id)
  return withLeases(core, request, id, async (workspace) => {
    const { lease } = await takeLease(core, request, workspace, input)
    return leaseView(workspace, lease)
  })
}

/**
 * Acquires the lease and logs it. Needs the lock.
 * @param idleMs take it from a holder who has been idle for so long
 */
export async function takeLease(
  core: Core,
  request: Request,
  workspace: Workspace,
  { holder, ttl_ms: ttlMs }: { holder: string; ttl_ms?: number | undefined },
  idleMs?: number,
): Promise<{ lease: Lease; previous?: Lease }> {
  assertAllowed(workspace, 'lease')
  const { now, expiresAt } = times(core, ttlMs)
  const idleSince = idleMs === undefined ? undefined : new Date(Date.parse(now) - idleMs).toISOString()
  const asked = { id: newId(core, 'ls'), holder, now, expiresAt, idleSince }
  const { acquired, ...answer } = await core.store.acquireLease(workspace.id, asked)
  if (!acquired) throw isLeased(core, workspace, answer.lease, idleMs)
  const { lease, previous } = answer
  const data = { ...nameFields(workspace), lease_id: lease.id, holder, expires_at: lease.expires_at }
  const event =
    previous === undefined
      ? newEvent(core, request, 'lease_acquired', data)
      : newEvent(core, request, 'lease_adopted', {
          ...data,
          from: { lease_id: previous.id, holder: previous.holder, active_at: previous.active_at },
        })
  await append(core, request, workspace, [event])
  return answer
}

function isLeased(core: Core, workspace: Workspace, lease: Lease, idleMs: number | undefined): AwError {
  const { holder, acquired_at, expires_at, active_at } = lease
  const name = nameOf(workspace)
  const freeMs = idleMs === undefined ? 0 : Date.parse(active_at) + idleMs - core.clock.now().getTime()
  return new AwError(
    'workspace_active',
    idleMs === undefined
      ? `${name} is leased by ${holder} since ${acquired_at}, until ${expires_at}`
      : `${name} is leased by ${holder} since ${acquired_at}, who was last active at ${active_at}`,
    {
      hint:
        idleMs === undefined
          ? `Wait until it is released or expires; or, if its holder is gone: aw adopt ${name} --holder NAME --force`
          : `It can be forced when its holder has done nothing for ${idleMs / 1000} seconds: in ${Math.max(1, Math.ceil(freeMs / 1000))} s if it stays so`,
      data: { id: workspace.id, lease: { holder, acquired_at, expires_at, active_at } },
    },
  )
}

export async function renewLease(core: Core, input: Inputs['lease renew']): Promise<Outputs['lease renew']> {
  const workspace = await findWorkspace(core, input.id)
  const { now, expiresAt } = times(core, input.ttl_ms)
  const lease = await core.store.renewLease(workspace.id, input.lease as LeaseId, now, expiresAt)
  if (lease !== undefined) return leaseView(workspace, lease)
  throw new AwError('lease_not_found', `${input.lease} on ${nameOf(workspace)} has expired or was released`, {
    hint: `Take it again: aw lease acquire ${nameOf(workspace)}`,
    data: { id: workspace.id, lease: input.lease },
  })
}

export async function releaseLease(
  core: Core,
  input: Inputs['lease release'],
  request: Request,
): Promise<Outputs['lease release']> {
  const { id } = await findWorkspace(core, input.id)
  return withLeases(core, request, id, async (workspace) => {
    const lease = await core.store.lease(id)
    const released = await core.store.releaseLease(id, input.lease as LeaseId)
    if (released && lease !== undefined) {
      const data = { ...nameFields(workspace), lease_id: lease.id, holder: lease.holder, reason: 'released' as const }
      await append(core, request, workspace, [newEvent(core, request, 'lease_released', data)])
    }
    return { released }
  })
}

/** Who uses it now; never the id of the lease, with which one would be them. */
export async function leaseOf(core: Core, workspace: Workspace): Promise<NonNullable<Outputs['show']['lease']> | null> {
  const lease = await core.store.lease(workspace.id)
  if (!isHeld(core, lease)) return null
  const { holder, acquired_at, expires_at, active_at } = lease
  return { holder, acquired_at, expires_at, active_at }
}

function times(core: Core, ttlMs = defaultTtlMs): { now: string; expiresAt: string } {
  const now = core.clock.now()
  return { now: now.toISOString(), expiresAt: new Date(now.getTime() + ttlMs).toISOString() }
}

export const leaseView = (workspace: Workspace, lease: Lease): Outputs['lease acquire'] => ({
  id: lease.id,
  workspace: nameOf(workspace),
  holder: lease.holder,
  acquired_at: lease.acquired_at,
  expires_at: lease.expires_at,
})
