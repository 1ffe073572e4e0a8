import { expect, it } from 'vitest'
import type { NewEvent } from '../../../src/domain/log/event.ts'
import { creation, newId, sampleEvent } from '../../support/sample-events.ts'
import { collect } from '../../support/collect.ts'
import type { OpenStore } from '../event-store.ts'

export function appendContract(open: OpenStore): void {
  it('stores events in order and answers with the workspace after them', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent, outcome } = creation('a')
    const first = await store.append(id, 0, [intent])
    const second = await store.append(id, 1, [outcome])
    expect(first.workspace).toMatchObject({ id, state: 'creating', version: 1 })
    expect(second.workspace).toMatchObject({ id, state: 'ready', version: 2, operation: null })
    expect(await collect(store.read(id))).toEqual([...first.events, ...second.events])
    expect(second.events[0]).toMatchObject({ ...outcome, stream: id, version: 2, schema: 1 })
    expect(second.unsealed).toBe(first.unsealed + 1)
  })

  it('stores several events at once', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent, outcome } = creation('a')
    const { events, workspace } = await store.append(id, 0, [intent, outcome])
    expect(events.map(({ version }) => version)).toEqual([1, 2])
    expect(workspace).toMatchObject({ state: 'ready', version: 2 })
    expect(await collect(store.read(id, { after: 1 }))).toEqual(events.slice(1))
  })

  it('tells of what is not on the disk yet, and when it is', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent, outcome } = creation('a')
    const { workspace } = await store.append(id, 0, [intent], { later: true })
    expect(await store.get(id)).toEqual(workspace)
    await store.flushed()
    await store.append(id, 1, [outcome])
    expect(await store.get(id)).toMatchObject({ state: 'ready', version: 2 })
  })

  it('knows nothing of a stream that was never written', async () => {
    const store = await open()
    const id = newId('ws')
    expect(await collect(store.read(id))).toEqual([])
    expect(await store.get(id)).toBeUndefined()
    expect(await store.append(id, 0, [])).toMatchObject({ events: [], workspace: undefined })
  })

  it('refuses a request with a large payload; an outcome it takes at any size', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent, outcome } = creation('a')
    const long = 'x'.repeat(64 * 1024)
    const large = (event: NewEvent): NewEvent => ({ ...event, data: { ...event.data, long } }) as never
    await expect(store.append(id, 0, [large(intent)])).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await store.get(id)).toBeUndefined()
    await store.append(id, 0, [intent])
    await store.append(id, 1, [large(outcome)])
    const labelled = sampleEvent('workspace_labelled')
    await expect(store.append(id, 2, [large(labelled)])).rejects.toMatchObject({ code: 'invalid_input' })
  })

  it('stores all events of a call or none', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent } = creation('a')
    const foreign = sampleEvent('workspace_created', { operation: { id: newId('op'), epoch: 1 } })
    await expect(store.append(id, 0, [intent, foreign])).rejects.toMatchObject({ code: 'workspace_busy' })
    expect(await collect(store.read(id))).toEqual([])
    expect(await store.list()).toEqual([])
    await store.append(id, 0, [intent])
  })

  it('refuses a writer that expects another version', async () => {
    const store = await open()
    const id = newId('ws')
    await store.append(id, 0, [creation('a').intent])
    for (const expected of [0, 2]) {
      await expect(store.append(id, expected, [sampleEvent('workspace_labelled')])).rejects.toMatchObject({
        code: 'version_conflict',
        data: { stream: id, expected, actual: 1 },
      })
    }
    await expect(store.append(newId('ws'), 1, [creation('b').intent])).rejects.toMatchObject({ data: { actual: 0 } })
  })

  it('answers a repeated call with the first result', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent, outcome } = creation('a')
    const first = await store.append(id, 0, [intent, outcome])
    await store.append(id, 2, [sampleEvent('workspace_labelled', { data: { labels: { later: 'yes' } } })])
    const again = await store.append(id, 0, [intent, outcome])
    expect(again.events).toEqual(first.events)
    expect(again.workspace).toEqual(first.workspace)
    expect(await collect(store.read(id))).toHaveLength(3)
  })

  it('sees a repeat in whatever order the fields come, and whenever it is tried', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent } = creation('a')
    const first = await store.append(id, 0, [intent])
    const data = Object.fromEntries(Object.entries(intent.data).toReversed())
    const shuffled = { ...intent, data, at: '2030-01-01T00:00:00.000Z' } as unknown as NewEvent
    expect((await store.append(id, 0, [shuffled])).events).toEqual(first.events)
  })

  it('refuses an id that stands for something else', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent } = creation('a')
    await store.append(id, 0, [intent])
    const data = { ...intent.data, agent_id: 'other' } as NewEvent['data']
    const other: readonly NewEvent[][] = [
      [{ ...intent, data }],
      [{ ...intent, meta: { ...intent.meta, actor: 'user:1' } }],
      [{ ...intent, type: 'workspace_labelled' }],
      [intent, sampleEvent('workspace_labelled')],
      [sampleEvent('workspace_labelled'), intent],
    ]
    for (const events of other) {
      await expect(store.append(id, 1, events)).rejects.toMatchObject({ code: 'event_conflict' })
    }
    await expect(store.append(newId('ws'), 0, [intent])).rejects.toMatchObject({ code: 'event_conflict' })
    const label = sampleEvent('workspace_labelled')
    await expect(store.append(id, 1, [label, label])).rejects.toMatchObject({ code: 'event_conflict' })
    expect(await collect(store.read(id))).toHaveLength(1)
  })

  it('keeps every text as it was given', async () => {
    const store = await open()
    const id = newId('ws')
    const labels = {
      'nul\0': '\0',
      "quote'": '"',
      snow: '☃ 𝄞',
      lone: '\ud800',
      line: '\n\r\u2028',
      empty: '',
      long: 'x'.repeat(60_000),
    }
    const { workspace } = await store.append(id, 0, [creation('a', 'main', { labels }).intent])
    expect(workspace?.labels).toEqual(labels)
    expect((await store.get(id))?.labels).toEqual(labels)
    expect(await store.verify()).toMatchObject({ intact: true })
  })

  it('is not changed by what a caller does to its answers', async () => {
    const store = await open()
    const id = newId('ws')
    const { intent, outcome } = creation('a')
    const { events, workspace } = await store.append(id, 0, [intent])
    // Whether an answer can be changed at all is the store's business.
    Reflect.set(events[0]?.data ?? {}, 'task_id', 'changed')
    Reflect.set(events[0]?.meta ?? {}, 'actor', 'changed')
    Reflect.set(workspace ?? {}, 'task', 'changed')
    Reflect.set(workspace?.operation ?? {}, 'epoch', 9)
    Reflect.set((await store.get(id)) ?? {}, 'task', 'changed')
    expect(await store.get(id)).toMatchObject({ task: 'a', operation: { epoch: 1 } })
    await store.append(id, 1, [outcome])
    expect(await store.get(id)).toMatchObject({ task: 'a', state: 'ready' })
    expect(await store.verify()).toMatchObject({ intact: true })
    expect((await collect(store.read(id)))[0]?.data).toMatchObject({ task_id: 'a' })
  })

  it('keeps what concerns the store itself in a stream of its own', async () => {
    const store = await open()
    const before = await collect(store.read('home'))
    const removed = sampleEvent('leftovers_removed')
    const { events, workspace } = await store.append('home', before.length, [removed])
    expect(workspace).toBeUndefined()
    expect(await collect(store.read('home'))).toEqual([...before, ...events])
    expect(await store.list()).toEqual([])
    expect((await store.append('home', before.length, [removed])).events).toEqual(events)
  })

  it('stores nothing for a caller that has gone', async () => {
    const store = await open()
    const id = newId('ws')
    const gone = store.append(id, 0, [creation('a').intent], { signal: AbortSignal.abort() })
    await expect(gone).rejects.toMatchObject({ code: 'aborted' })
    expect(await store.get(id)).toBeUndefined()
  })

  it('lets one of many writers win each version', async () => {
    const store = await open()
    const id = newId('ws')
    await store.append(id, 0, [creation('a').intent])
    const tries = Array.from({ length: 10 }, () => store.append(id, 1, [sampleEvent('workspace_labelled')]))
    const results = await Promise.allSettled(tries)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await collect(store.read(id))).toHaveLength(2)
  })
}
