import { expect, it } from 'vitest'
import { makeId, type LeaseId } from '../../../src/domain/ids.ts'
import type { LeaseRequest } from '../../../src/ports/event-store.ts'
import type { OpenStore } from '../event-store.ts'
import { creation, newId, sampleEvent } from '../../support/sample-events.ts'

let count = 0
const newLease = (): LeaseId => makeId('ls', ++count, new Uint8Array(10))

const minute = (n: number): string => new Date(Date.UTC(2026, 0, 1, 0, n)).toISOString()
const request = (holder: string, from: number, to: number): LeaseRequest => ({
  id: newLease(),
  holder,
  now: minute(from),
  expiresAt: minute(to),
})

export function leaseContract(open: OpenStore): void {
  it('gives a resource to one holder', async () => {
    const store = await open()
    const mine = await store.acquireLease('janitor', request('a', 0, 10))
    expect(mine).toMatchObject({
      acquired: true,
      lease: { resource: 'janitor', holder: 'a', expires_at: minute(10), active_at: minute(0) },
    })
    const theirs = await store.acquireLease('janitor', request('b', 5, 15))
    expect(theirs).toEqual({ acquired: false, lease: mine.lease })
    expect(await store.lease('janitor')).toEqual(mine.lease)
    expect((await store.acquireLease('other', request('b', 5, 15))).acquired).toBe(true)
  })

  it('lets a holder take its own lease again, under the same id', async () => {
    const store = await open()
    const first = await store.acquireLease('r', request('a', 0, 10))
    const second = await store.acquireLease('r', request('a', 5, 20))
    expect(second).toEqual({
      acquired: true,
      lease: { ...first.lease, expires_at: minute(20), active_at: minute(5) },
    })
  })

  it('gives an expired lease to whoever asks, as a new one', async () => {
    const store = await open()
    const first = await store.acquireLease('r', request('a', 0, 10))
    expect(await store.lease('r')).toEqual(first.lease)
    const second = await store.acquireLease('r', request('b', 10, 20))
    expect(second).toMatchObject({ acquired: true, lease: { holder: 'b' } })
    expect(await store.renewLease('r', first.lease.id, minute(11), minute(30))).toBeUndefined()
    expect(await store.releaseLease('r', first.lease.id)).toBe(false)
    expect(await store.lease('r')).toEqual(second.lease)
  })

  it('renews a lease that is still held', async () => {
    const store = await open()
    const { lease } = await store.acquireLease('r', request('a', 0, 10))
    const renewed = await store.renewLease('r', lease.id, minute(9), minute(20))
    expect(renewed).toEqual({ ...lease, expires_at: minute(20), active_at: minute(9) })
    expect(await store.lease('r')).toEqual(renewed)
    expect(await store.renewLease('r', lease.id, minute(20), minute(30))).toBeUndefined()
    expect(await store.renewLease('unknown', lease.id, minute(0), minute(30))).toBeUndefined()
  })

  it('knows when the holder was last active', async () => {
    const store = await open()
    const { lease } = await store.acquireLease('r', request('a', 0, 10))
    expect(await store.touchLease('r', lease.id, minute(3))).toEqual({ ...lease, active_at: minute(3) })
    expect(await store.lease('r')).toEqual({ ...lease, active_at: minute(3) })
    expect(await store.touchLease('r', newLease(), minute(4))).toBeUndefined()
    expect(await store.touchLease('r', lease.id, minute(10))).toBeUndefined()
    expect(await store.touchLease('unknown', lease.id, minute(4))).toBeUndefined()
    expect(await store.lease('r')).toEqual({ ...lease, active_at: minute(3) })
  })

  it('takes over the lease of another who was not active since', async () => {
    const store = await open()
    const { lease: first } = await store.acquireLease('r', request('a', 0, 60))
    await store.touchLease('r', first.id, minute(5))
    const early = await store.acquireLease('r', { ...request('b', 6, 30), idleSince: minute(4) })
    expect(early).toEqual({ acquired: false, lease: { ...first, active_at: minute(5) } })
    const second = await store.acquireLease('r', { ...request('b', 7, 30), idleSince: minute(5) })
    expect(second).toMatchObject({ acquired: true, lease: { holder: 'b', acquired_at: minute(7) } })
    expect(second.previous).toEqual({ ...first, active_at: minute(5) })
    expect(second.lease.id).not.toBe(first.id)
    expect(await store.renewLease('r', first.id, minute(8), minute(90))).toBeUndefined()
    expect(await store.lease('r')).toEqual(second.lease)
  })

  it('counts nobody as active after a rest, until they are again; nobody loses a lease by it', async () => {
    const store = await open()
    const { lease: idle } = await store.acquireLease('idle', request('a', 0, 60))
    const { lease: alive } = await store.acquireLease('alive', request('a', 0, 60))
    await store.restLeases()
    const resting = await store.lease('idle')
    expect(resting).toEqual({ ...idle, active_at: new Date(0).toISOString() })
    expect(await store.renewLease('alive', alive.id, minute(2), minute(60))).toMatchObject({ id: alive.id })
    const asked = { ...request('b', 3, 60), idleSince: minute(1) }
    expect((await store.acquireLease('alive', asked)).acquired).toBe(false)
    expect((await store.acquireLease('idle', asked)).acquired).toBe(true)
  })

  it('takes the lease of a workspace away with its name, and no other', async () => {
    const store = await open()
    const [id, other] = [newId('ws'), newId('ws')]
    const { intent, outcome } = creation('a')
    await store.append(id, 0, [intent, outcome])
    for (const resource of [id, other]) await store.acquireLease(resource, request('a', 0, 10))
    const operation = { id: newId('op'), epoch: 1 }
    await store.append(id, 2, [sampleEvent('workspace_destroy_started', { operation })])
    expect(await store.lease(id)).toMatchObject({ holder: 'a' })
    const cleanup = sampleEvent('workspace_cleanup', { operation })
    expect((await store.append(id, 3, [cleanup])).workspace).toMatchObject({ state: 'trashed' })
    expect(await store.lease(id)).toBeUndefined()
    expect(await store.lease(other)).toMatchObject({ holder: 'a' })
  })

  it('releases once', async () => {
    const store = await open()
    const { lease } = await store.acquireLease('r', request('a', 0, 10))
    expect(await store.releaseLease('r', lease.id)).toBe(true)
    expect(await store.releaseLease('r', lease.id)).toBe(false)
    expect(await store.lease('r')).toBeUndefined()
  })

  it('gives one of many contenders the lease', async () => {
    const store = await open()
    const tries = Array.from({ length: 20 }, (_, i) => store.acquireLease('r', request(`holder-${i}`, 0, 10)))
    const answers = await Promise.all(tries)
    expect(answers.filter(({ acquired }) => acquired)).toHaveLength(1)
    expect(new Set(answers.map(({ lease }) => lease.id)).size).toBe(1)
  })
}
