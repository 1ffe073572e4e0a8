import type { LeaseId } from '../../domain/ids.ts'
import type { Lease, LeaseAnswer, LeaseRequest } from '../../ports/event-store.ts'

/** Who gets a lease, given the one that is stored. Both stores decide by these. */

/** When nobody was active yet. */
export const neverActive = new Date(0).toISOString()

const expired = (lease: Lease, now: string): boolean => Date.parse(lease.expires_at) <= Date.parse(now)

export function decideLease(resource: string, current: Lease | undefined, request: LeaseRequest): LeaseAnswer {
  const { id, holder, now, expiresAt, idleSince } = request
  const fresh: Lease = { id, resource, holder, acquired_at: now, expires_at: expiresAt, active_at: now }
  if (current === undefined || expired(current, now)) return { acquired: true, lease: fresh }
  if (current.holder === holder) return { acquired: true, lease: { ...current, expires_at: expiresAt, active_at: now } }
  const isIdle = idleSince !== undefined && Date.parse(current.active_at) <= Date.parse(idleSince)
  return isIdle ? { acquired: true, lease: fresh, previous: current } : { acquired: false, lease: current }
}

/** The lease as its holder goes on with it; undefined if it is not theirs any more. */
export function renewedLease(
  current: Lease | undefined,
  id: LeaseId,
  now: string,
  expiresAt = current?.expires_at,
): Lease | undefined {
  if (current?.id !== id || expired(current, now)) return undefined
  return { ...current, expires_at: expiresAt ?? current.expires_at, active_at: now }
}
