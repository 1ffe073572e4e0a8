import type { Lease, LeaseRequest } from '../../ports/event-store.ts'

/** Who gets a lease, given the one that is stored. Both stores decide by these. */

export const expired = (lease: Lease, now: string): boolean => Date.parse(lease.expires_at) <= Date.parse(now)

export function decideLease(
  resource: string,
  current: Lease | undefined,
  request: LeaseRequest,
): { acquired: boolean; lease: Lease } {
  const { id, holder, now, expiresAt } = request
  if (current === undefined || expired(current, now)) {
    return { acquired: true, lease: { id, resource, holder, acquired_at: now, expires_at: expiresAt } }
  }
  if (current.holder !== holder) return { acquired: false, lease: current }
  return { acquired: true, lease: { ...current, expires_at: expiresAt } }
}
