import { expect, it } from 'vitest'
import type { RunId, WorkspaceId } from '../../../src/domain/ids.ts'
import type { EventStore, WorkspaceFilter } from '../../../src/ports/event-store.ts'
import { creation, newId, sampleEvent } from '../../support/sample-events.ts'
import type { OpenStore } from '../event-store.ts'

export async function make(store: EventStore, task: string, agent = 'main', labels = {}): Promise<WorkspaceId> {
  const id = newId('ws')
  const { intent, outcome } = creation(task, agent, { labels })
  await store.append(id, 0, [intent, outcome])
  return id
}

async function trash(store: EventStore, id: WorkspaceId): Promise<void> {
  const { task = '', agent = '', version = 0 } = (await store.get(id)) ?? {}
  const operation = { id: newId('op'), epoch: 1 }
  const whose = { task_id: task, agent_id: agent }
  await store.append(id, version, [
    sampleEvent('workspace_destroy_started', { data: whose, operation }),
    sampleEvent('workspace_cleanup', { data: { ...whose, tree: `${id}.1` }, operation }),
  ])
}

export function readModelContract(open: OpenStore): void {
  it('finds a workspace by its id in every state, by its name while it lives', async () => {
    const store = await open()
    const id = await make(store, 'a', 'b')
    expect((await store.find('a', 'b'))?.id).toBe(id)
    expect(await store.find('a', 'main')).toBeUndefined()
    await trash(store, id)
    expect(await store.find('a', 'b')).toBeUndefined()
    expect(await store.get(id)).toMatchObject({ state: 'trashed', trash: [{ tree: `${id}.1` }] })
  })

  it('finds the workspace of each of its runs, in every state', async () => {
    const store = await open()
    const [one, other] = [await make(store, 'a'), await make(store, 'b')]
    const runs = [newId('run'), newId('run'), newId('run')] as const
    const asked = (run: RunId) => sampleEvent('run_requested', { data: { task_id: 'a', agent_id: 'main', run } })
    const ended = (run: RunId) => sampleEvent('run_cancelled', { data: { task_id: 'a', agent_id: 'main', run } })
    await store.append(one, 2, [asked(runs[0]), ended(runs[0]), asked(runs[1])])
    await store.append(other, 2, [asked(runs[2])])
    for (const [run, id] of [
      [runs[0], one],
      [runs[1], one],
      [runs[2], other],
    ] as const)
      expect((await store.ofRun(run))?.id).toBe(id)
    expect(await store.ofRun(newId('run'))).toBeUndefined()
    await store.append(one, 5, [ended(runs[1])])
    await trash(store, one)
    expect(await store.ofRun(runs[0])).toMatchObject({ id: one, state: 'trashed' })
  })

  it('gives a name to one live workspace at a time', async () => {
    const store = await open()
    const holder = await make(store, 'a')
    const late = { code: 'workspace_exists', data: { name: 'a/main', id: holder } }
    await expect(make(store, 'a')).rejects.toMatchObject(late)
    await trash(store, holder)
    const next = await make(store, 'a')
    expect((await store.find('a', 'main'))?.id).toBe(next)
    const undelete = sampleEvent('workspace_undelete_started', { data: { task_id: 'a', agent_id: 'main' } })
    await expect(store.append(holder, 4, [undelete])).rejects.toMatchObject({ data: { id: next } })
  })

  it('holds a renamed workspace to the same rule', async () => {
    const store = await open()
    const first = await make(store, 'a')
    const second = await make(store, 'b')
    const operation = { id: newId('op'), epoch: 1 }
    const rename = (to: string) => sampleEvent('workspace_rename_started', { data: { to_task_id: to }, operation })
    await expect(store.append(second, 2, [rename('a')])).rejects.toMatchObject({
      code: 'workspace_exists',
      data: { name: 'a/main', id: first },
    })
    await store.append(second, 2, [rename('c')])
    expect(await store.find('b', 'main')).toBeUndefined()
    expect((await store.find('c', 'main'))?.id).toBe(second)
    await make(store, 'b')
  })

  it('has as many live workspaces as the limit says', async () => {
    const store = await open()
    const limits = { maxWorkspaces: 2 }
    const one = await make(store, 'a')
    const id = newId('ws')
    await store.append(id, 0, [creation('b').intent], { limits })
    const third = () => store.append(newId('ws'), 0, [creation('c').intent], { limits })
    await expect(third()).rejects.toMatchObject({ code: 'limit_reached', data: { limit: 2, count: 2 } })
    // What is live already needs no new place.
    await store.append(one, 2, [sampleEvent('workspace_labelled')], { limits: { maxWorkspaces: 0 } })
    await trash(store, one)
    await third()
  })

  it('lists by every filter, in the order of age', async () => {
    const store = await open()
    const a = await make(store, 'a', 'one', { team: 'x', 'odd.key': 'y' })
    const b = await make(store, 'a', 'two', { team: 'z' })
    const c = newId('ws')
    await store.append(c, 0, [creation('c', 'one', { labels: { team: 'x' } }).intent])
    await trash(store, b)
    const ids = async (filter: WorkspaceFilter) => (await store.list(filter)).map(({ id }) => id)
    expect(await ids({})).toEqual([a, b, c].sort())
    expect(await ids({ task: 'a' })).toEqual([a, b].sort())
    expect(await ids({ task: 'a', agent: 'one' })).toEqual([a])
    expect(await ids({ agent: 'one' })).toEqual([a, c].sort())
    expect(await ids({ states: ['creating', 'trashed'] })).toEqual([b, c].sort())
    expect(await ids({ states: [] })).toEqual([])
    expect(await ids({ labels: { team: 'x' } })).toEqual([a, c].sort())
    expect(await ids({ labels: { team: 'x', 'odd.key': 'y' } })).toEqual([a])
    expect(await ids({ labels: { team: '' } })).toEqual([])
    expect(await ids({ inOperation: true })).toEqual([c])
    expect(await ids({ inOperation: false })).toEqual([a, b].sort())
    expect(await ids({ withTrash: true })).toEqual([b])
    expect(await ids({ withTrash: false })).toEqual([a, c].sort())
  })

  it('lists by time, whichever way the instant is written', async () => {
    const store = await open()
    const id = newId('ws')
    const intent = { ...creation('a').intent, at: '2026-06-01T12:00:00.000Z' }
    await store.append(id, 0, [intent])
    const count = async (filter: WorkspaceFilter) => (await store.list(filter)).length
    expect(await count({ createdBefore: '2026-06-01T12:00:00Z' })).toBe(0)
    expect(await count({ createdBefore: '2026-06-01T14:00:01+02:00' })).toBe(1)
    expect(await count({ createdAfter: '2026-06-01T12:00:00Z' })).toBe(0)
    expect(await count({ createdAfter: '2026-06-01' })).toBe(1)
  })

  it('lists page by page', async () => {
    const store = await open()
    const ids = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((task) => make(store, task)))
    const pages: string[] = []
    for (let after: WorkspaceId | undefined; ;) {
      const page = await store.list({ after, limit: 2 })
      expect(page.length).toBeLessThanOrEqual(2)
      pages.push(...page.map(({ id }) => id))
      after = page.at(-1)?.id
      if (page.length < 2) break
    }
    expect(pages).toEqual(ids.sort())
  })
}
