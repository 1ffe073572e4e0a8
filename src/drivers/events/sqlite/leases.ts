import type { LeaseId } from '../../../domain/ids.ts'
import type { EventStore, Lease } from '../../../ports/event-store.ts'
import type { Database } from './database.ts'
import { decideLease, neverActive, renewedLease } from '../leases.ts'

type Leases = Pick<EventStore, 'acquireLease' | 'renewLease' | 'touchLease' | 'releaseLease' | 'restLeases' | 'lease'>

const columns = 'resource, id, holder, acquired_at, expires_at, active_at'

export function sqliteLeases(database: Database): Leases {
  const find = (resource: string): Lease | undefined =>
    database.get(`SELECT ${columns} FROM leases WHERE resource = ?`, resource) as Lease | undefined
  const save = ({ resource, id, holder, acquired_at, expires_at, active_at }: Lease): void =>
    database.run(
      `REPLACE INTO leases (${columns}) VALUES (?, ?, ?, ?, ?, ?)`,
      resource,
      id,
      holder,
      acquired_at,
      expires_at,
      active_at,
    )
  const keep = (resource: string, id: LeaseId, now: string, expiresAt?: string): Promise<Lease | undefined> =>
    database.transaction(() => {
      const lease = renewedLease(find(resource), id, now, expiresAt)
      if (lease !== undefined) save(lease)
      return lease
    })

  return {
    acquireLease: (resource, request) =>
      database.transaction(() => {
        const answer = decideLease(resource, find(resource), request)
        if (answer.acquired) save(answer.lease)
        return answer
      }),
    renewLease: keep,
    touchLease: (resource, id, now) => keep(resource, id, now),
    releaseLease: (resource, id) =>
      database.transaction(() => {
        if (find(resource)?.id !== id) return false
        database.run('DELETE FROM leases WHERE resource = ?', resource)
        return true
      }),
    restLeases: () => database.transaction(() => database.run('UPDATE leases SET active_at = ?', neverActive)),
    lease: (resource) => database.reading(() => find(resource)),
  }
}
