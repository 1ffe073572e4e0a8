import type { Inputs, Outputs } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { LeaseId } from '../domain/ids.ts'
import { assertAllowed } from '../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Lease } from '../ports/event-store.ts'
import { newEvent, newId, type Core, type Request } from './core.ts'
import { findWorkspace } from './find.ts'
import { append, whose, withWorkspace } from './operations.ts'

const defaultTtlMs = 60_000

export async function acquireLease(
  core: Core,
  input: Inputs['lease acquire'],
  request: Request,
): Promise<Outputs['lease acquire']> {
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (workspace) => {
    assertAllowed(workspace, 'lease')
    const { now, expiresAt } = times(core, input.ttl_ms)
    const { acquired, lease } = await core.store.acquireLease(id, {
      id: newId(core, 'ls'),
      holder: input.holder,
      now,
      expiresAt,
    })
    if (!acquired) {
      throw new AwError(
        'workspace_active',
        `${nameOf(workspace)} is leased by ${lease.holder} until ${lease.expires_at}`,
        {
          hint: 'Wait until it is released or expires',
          data: { id, lease: { holder: lease.holder, expires_at: lease.expires_at } },
        },
      )
    }
    const data = { ...whose(workspace), lease_id: lease.id, holder: lease.holder, expires_at: lease.expires_at }
    await append(core, request, workspace, [newEvent(core, request, 'lease_acquired', data)])
    return leaseView(workspace, lease)
  })
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
  return withWorkspace(core, request, id, async (workspace) => {
    const lease = await core.store.lease(id)
    const released = await core.store.releaseLease(id, input.lease as LeaseId)
    if (released && lease !== undefined) {
      const data = { ...whose(workspace), lease_id: lease.id, holder: lease.holder, reason: 'released' as const }
      await append(core, request, workspace, [newEvent(core, request, 'lease_released', data)])
    }
    return { released }
  })
}

function times(core: Core, ttlMs = defaultTtlMs): { now: string; expiresAt: string } {
  const now = core.clock.now()
  return { now: now.toISOString(), expiresAt: new Date(now.getTime() + ttlMs).toISOString() }
}

const leaseView = (workspace: Workspace, lease: Lease): Outputs['lease acquire'] => ({
  id: lease.id,
  workspace: nameOf(workspace),
  holder: lease.holder,
  acquired_at: lease.acquired_at,
  expires_at: lease.expires_at,
})
