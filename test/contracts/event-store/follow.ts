import { expect, it } from 'vitest'
import type { AnyEvent } from '../../../src/domain/log/event.ts'
import type { EventStore, FollowOptions } from '../../../src/ports/event-store.ts'
import { newId, sampleEvent, creation } from '../../support/sample-events.ts'
import { collect } from '../../support/collect.ts'
import type { OpenStore } from '../event-store.ts'
import { make } from './read-model.ts'

export const all = (store: EventStore, options: FollowOptions = {}): Promise<AnyEvent[]> =>
  collect(store.follow(options))

/** Follows until it has seen so many events. */
async function take(store: EventStore, count: number, options: FollowOptions = {}): Promise<AnyEvent[]> {
  const stop = new AbortController()
  const seen: AnyEvent[] = []
  for await (const event of store.follow({ ...options, live: stop.signal })) {
    seen.push(event)
    if (seen.length === count) stop.abort()
  }
  return seen
}

export function followContract(open: OpenStore): void {
  it('gives the whole log in order and ends', async () => {
    const store = await open()
    const start = await all(store)
    for (const task of ['a', 'b', 'c']) await make(store, task)
    const log = await all(store)
    expect(log).toHaveLength(start.length + 6)
    const positions = log.map(({ position }) => position)
    expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b))
  })

  it('begins after a position', async () => {
    const store = await open()
    for (const task of ['a', 'b']) await make(store, task)
    const log = await all(store)
    for (const [i, { position }] of log.entries()) {
      expect(await all(store, { after: position })).toEqual(log.slice(i + 1))
    }
  })

  it('begins with the last so many that match', async () => {
    const store = await open()
    for (const task of ['a', 'b', 'c']) await make(store, task)
    const log = await all(store)
    const types = ['workspace_created'] as const
    const after = log[2]?.position ?? 0
    for (let last = 1; last <= log.length + 1; last++) {
      expect(await all(store, { last })).toEqual(log.slice(-last))
      expect(await all(store, { last, types })).toEqual((await all(store, { types })).slice(-last))
      expect(await all(store, { last, after })).toEqual(log.slice(3).slice(-last))
    }
    expect(await all(store, { last: 1, task: 'nobody' })).toEqual([])
    const stop = new AbortController()
    const seen: AnyEvent[] = []
    for await (const event of store.follow({ last: 1, types, live: stop.signal })) {
      if (seen.push(event) === 1) for (const task of ['d', 'e']) await make(store, task)
      if (seen.length === 3) stop.abort()
    }
    expect(seen).toEqual((await all(store, { types })).slice(-3))
  })

  it('begins after the end of the log as it is now', async () => {
    const store = await open()
    await make(store, 'a')
    const after = await store.position()
    expect(after).toBe((await all(store)).at(-1)?.position)
    expect(await all(store, { after })).toEqual([])
    await make(store, 'b')
    expect(await all(store, { after })).toHaveLength(2)
  })

  it('tells how far a stream has come', async () => {
    const store = await open()
    const home = (await collect(store.read('home'))).length
    expect(await store.version('home')).toBe(home)
    const id = await make(store, 'a')
    expect(await store.version(id)).toBe(2)
    expect(await store.version('home')).toBe(home)
    expect(await store.version(newId('ws'))).toBe(0)
  })

  it('filters', async () => {
    const store = await open()
    const a = await make(store, 'a', 'one')
    const b = await make(store, 'a', 'two')
    await make(store, 'b', 'one')
    const types = async (options: FollowOptions) => (await all(store, options)).map(({ type }) => type)
    const both = ['workspace_create_started', 'workspace_created']
    expect(await types({ task: 'a' })).toEqual([...both, ...both])
    expect(await types({ agent: 'one' })).toEqual([...both, ...both])
    expect(await types({ task: 'a', agent: 'two' })).toEqual(both)
    expect(await types({ stream: a })).toEqual(both)
    expect(await types({ stream: b, types: ['workspace_created'] })).toEqual(['workspace_created'])
    expect(await types({ task: 'a', types: [] })).toEqual([])
    expect(await types({ task: 'none' })).toEqual([])
  })

  it('finds the events of one request, live too', async () => {
    const store = await open()
    const id = await make(store, 'a')
    const asked = (correlation_id: string) => {
      const event = sampleEvent('workspace_labelled')
      return { ...event, meta: { ...event.meta, correlation_id } }
    }
    const following = take(store, 3, { correlation: 'cor_one' })
    for (const [i, correlation] of ['cor_one', 'cor_other', 'cor_one', 'cor_one\\', 'cor_one'].entries())
      await store.append(id, 2 + i, [asked(correlation)])
    expect((await following).map(({ version }) => version)).toEqual([3, 5, 7])
    expect(await all(store, { correlation: 'cor_one' })).toEqual(await following)
    expect(await all(store, { correlation: 'cor_one', types: ['workspace_created'] })).toEqual([])
    expect(await all(store, { correlation: 'cor_none' })).toEqual([])
  })

  it('goes on with what is appended, in its own process too', async () => {
    const store = await open()
    const start = (await all(store)).length
    const following = take(store, start + 40)
    for (let i = 0; i < 20; i++) await make(store, `t${i}`)
    const seen = await following
    expect(seen).toEqual(await all(store))
  })

  it('goes on from a position with a filter', async () => {
    const store = await open()
    await make(store, 'old')
    const after = (await all(store)).at(-1)?.position
    const following = take(store, 3, { after, types: ['workspace_labelled'] })
    const id = await make(store, 'new')
    for (let i = 0; i < 3; i++) await store.append(id, 2 + i, [sampleEvent('workspace_labelled')])
    expect((await following).map(({ version }) => version)).toEqual([3, 4, 5])
  })

  it('serves several followers, each at its own pace', async () => {
    const store = await open()
    const start = (await all(store)).length
    const followers = Array.from({ length: 5 }, () => take(store, start + 10))
    for (let i = 0; i < 5; i++) await make(store, `t${i}`)
    const [first, ...others] = await Promise.all(followers)
    for (const other of others) expect(other).toEqual(first)
  })

  it('ends without an error when the signal fires or has fired', async () => {
    const store = await open()
    expect(await all(store, { live: AbortSignal.abort() })).toEqual([])
    const log = await all(store)
    const stop = new AbortController()
    const seen: AnyEvent[] = []
    const following = (async () => {
      for await (const event of store.follow({ live: stop.signal })) seen.push(event)
    })()
    await expect.poll(() => seen.length).toBe(log.length)
    stop.abort()
    await following
    expect(seen).toEqual(log)
  })

  it('ends when the store is closed', async () => {
    const store = await open()
    const following = all(store, { live: new AbortController().signal })
    await store.append(newId('ws'), 0, [creation('a').intent])
    await store[Symbol.asyncDispose]()
    expect((await following).length).toBeLessThan(3)
    expect(await all(store, { live: new AbortController().signal })).toEqual([])
  })

  it('can be left at any event', async () => {
    const store = await open()
    await make(store, 'a')
    for await (const event of store.follow({ live: new AbortController().signal })) {
      expect(event.position).toBeGreaterThan(0)
      break
    }
  })
}
