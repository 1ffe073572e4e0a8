import type { EventStore, Lease } from '../../../ports/event-store.ts'
import type { Database } from '../../../sys/database.ts'
import { decideLease, expired } from '../leases.ts'

type Leases = Pick<EventStore, 'acquireLease' | 'renewLease' | 'releaseLease' | 'lease'>

const saveSql = 'REPLACE INTO leases (resource, id, holder, acquired_at, expires_at) VALUES (?, ?, ?, ?, ?)'

export function sqliteLeases(database: Database): Leases {
  const find = (resource: string): Lease | undefined =>
    database.get('SELECT resource, id, holder, acquired_at, expires_at FROM leases WHERE resource = ?', resource) as
      | Lease
      | undefined
  const save = ({ resource, id, holder, acquired_at, expires_at }: Lease): void =>
    database.run(saveSql, resource, id, holder, acquired_at, expires_at)

  return {
    acquireLease: (resource, request) =>
      database.transaction(() => {
        const answer = decideLease(resource, find(resource), request)
        if (answer.acquired) save(answer.lease)
        return answer
      }),
    renewLease: (resource, id, now, expiresAt) =>
      database.transaction(() => {
        const current = find(resource)
        if (current?.id !== id || expired(current, now)) return undefined
        const lease = { ...current, expires_at: expiresAt }
        save(lease)
        return lease
      }),
    releaseLease: (resource, id) =>
      database.transaction(() => {
        if (find(resource)?.id !== id) return false
        database.run('DELETE FROM leases WHERE resource = ?', resource)
        return true
      }),
    lease: (resource) => database.reading(() => find(resource)),
  }
}
