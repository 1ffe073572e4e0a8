import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Manager } from '../ports/manager.ts'
import { collect } from '../../test/support/collect.ts'
import { memoryIdempotencyStore } from '../../test/memory/idempotency-store.ts'
import { memoryCore } from '../../test/memory/core.ts'
import { startLoops } from './loops.ts'

test('what is done seldom is not done all the time: a timer that is to wait for too long would not wait', async () => {
  let count = 0
  const manager = {
    async call() {
      count += 1
      return { items: [], bytes: 0 }
    },
  } as unknown as Manager
  const about = {
    answers: memoryIdempotencyStore(),
    noteTime: async () => undefined,
    reopen: async () => false,
    turnLog: () => false,
    log: () => undefined,
  }
  const { signal } = new AbortController()
  using _ = startLoops({ manager, ...about, gcMinutes: 60 * 24 * 365, signal })
  await sleep(50)
  expect(count).toBe(0)
})

test('what is over its time is removed, again and again, in the name of the daemon', async () => {
  let at = Date.UTC(2026, 0, 1)
  const { manager } = memoryCore({ now: () => new Date((at += 1)), set: { 'trash.retention_days': '1' } })
  const told: object[] = []
  const about = {
    answers: memoryIdempotencyStore(),
    noteTime: async () => undefined,
    reopen: async () => false,
    turnLog: () => false,
  }
  using _ = startLoops({
    manager,
    ...about,
    log: (record) => told.push(record),
    gcMinutes: 1 / 6000,
    signal: new AbortController().signal,
  })
  for (const id of ['a', 'b']) {
    await manager.call('create', { id })
    await manager.call('destroy', { id })
    at += 2 * 86_400_000
    await expect.poll(() => manager.call('list', { trashed: true })).toEqual([])
  }
  const purged = await collect(manager.stream('events', { type: ['workspace_purged'] }))
  expect(purged.map(({ meta }) => meta['actor'])).toEqual(['daemon', 'daemon'])
  expect(told).toContainEqual(expect.objectContaining({ loop: 'gc', items: 1 }))
  await manager[Symbol.asyncDispose]()
})
