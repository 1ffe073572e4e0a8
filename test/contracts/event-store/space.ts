import { expect, it } from 'vitest'
import type { EventData } from '../../../src/domain/log/event.ts'
import type { SpaceLimits } from '../../../src/domain/space/limits.ts'
import type { GitSource, Source, WorkspaceConfig } from '../../../src/domain/workspace/state.ts'
import type { EventStore } from '../../../src/ports/event-store.ts'
import { creation, newId, sampleData, sampleEvent } from '../../support/sample-events.ts'
import type { OpenStore } from '../event-store.ts'

const { config } = sampleData.workspace_create_started
const of = (max_size_mb: number): WorkspaceConfig => ({ ...config, max_size_mb })
const git = (url: string): GitSource => ({ kind: 'git', url, ref: null, shallow: true })
const refused = (data: Record<string, unknown>): unknown => expect.objectContaining({ code: 'limit_reached', data })

let made = 0

function create(
  store: EventStore,
  space: SpaceLimits,
  mb: number,
  rest: { source?: Source; labels?: Record<string, string> } = {},
) {
  const id = newId('ws')
  const { intent, outcome } = creation(`task-${++made}`, 'main', {
    source: { kind: 'empty' },
    labels: {},
    ...rest,
    config: of(mb),
  })
  return store.append(id, 0, [intent, outcome], { limits: { space } }).then(() => id)
}

export function spaceContract(open: OpenStore): void {
  it('reserves what a workspace may grow to, up to the budget of the store', async () => {
    const store = await open()
    const space = { storeMb: 100 }
    await create(store, space, 60)
    await expect(create(store, space, 41)).rejects.toEqual(
      refused({ what: 'store', of: null, limit: 100, reserved: 60, asked: 41 }),
    )
    await create(store, space, 40)
    await expect(create(store, space, 1)).rejects.toEqual(
      refused({ what: 'store', of: null, limit: 100, reserved: 100, asked: 1 }),
    )
    await create(store, {}, 1000)
    expect(await store.list()).toHaveLength(3)
  })

  it('counts limits that are larger than what can be counted, as older versions took them', async () => {
    const store = await open()
    for (let at = 0; at < 3; at++) await create(store, {}, Number.MAX_SAFE_INTEGER)
    const refusal = { code: 'limit_reached', data: { limit: 100, asked: 1 } }
    await expect(create(store, { storeMb: 100 }, 1)).rejects.toMatchObject(refusal)
  })

  it('does not count what is in the trash, and counts it again when it comes back', async () => {
    const store = await open()
    const space = { storeMb: 100 }
    const id = await create(store, space, 60)
    const operation = { id: newId('op'), epoch: 1 }
    await store.append(id, 2, [
      sampleEvent('workspace_destroy_started', { operation }),
      sampleEvent('workspace_cleanup', { operation }),
    ])
    const other = await create(store, space, 50)
    const back = sampleEvent('workspace_undelete_started', {
      data: { task_id: 'back' },
      operation: { id: newId('op'), epoch: 1 },
    })
    await expect(store.append(id, 4, [back], { limits: { space } })).rejects.toEqual(
      refused({ what: 'store', of: null, limit: 100, reserved: 50, asked: 60 }),
    )
    await store.append(other, 2, [sampleEvent('workspace_lost')])
    await store.append(id, 4, [back], { limits: { space } })
    expect(await store.get(id)).toMatchObject({ state: 'creating', task: 'back' })
  })

  it('refuses a new one without a limit where there is a budget; one that was there before counts nothing', async () => {
    const store = await open()
    await create(store, {}, 0)
    const space = { storeMb: 100 }
    await expect(create(store, space, 0)).rejects.toEqual(
      refused({ what: 'store', of: null, limit: 100, reserved: 0, asked: 0 }),
    )
    await create(store, space, 100)
  })

  it('never refuses what makes nothing live, whatever is reserved', async () => {
    const store = await open()
    const id = await create(store, {}, 500)
    const limits = { space: { storeMb: 1, perRepositoryMb: 1, perLabel: [{ label: 'team', value: 'web', mb: 1 }] } }
    const begin = (type: 'workspace_reset_started' | 'snapshot_started' | 'workspace_destroy_started') => {
      const operation = { id: newId('op'), epoch: 1 }
      return { intent: sampleEvent(type, { operation }), operation }
    }
    const reset = begin('workspace_reset_started')
    await store.append(id, 2, [reset.intent, sampleEvent('workspace_reset', reset)], { limits })
    const snapshot = begin('snapshot_started')
    await store.append(id, 4, [snapshot.intent, sampleEvent('snapshot_created', snapshot)], { limits })
    const destroy = begin('workspace_destroy_started')
    await store.append(id, 6, [destroy.intent, sampleEvent('workspace_cleanup', destroy)], { limits })
    expect(await store.get(id)).toMatchObject({ state: 'trashed' })
  })

  it('counts for each repository by itself, with its forks', async () => {
    const store = await open()
    const space = { perRepositoryMb: 100 }
    const web = 'https://example.com/web.git'
    const origin = await create(store, space, 60, { source: git(web) })
    await create(store, space, 60, { source: git('https://example.com/api.git') })
    await create(store, space, 900)
    const fork: Source = {
      kind: 'workspace',
      workspace: origin,
      name: 'web/main',
      snapshot: 'snap_1',
      at: '2026-11-15T09:00:00.000Z',
    }
    await create(store, space, 900, { source: fork })
    await expect(create(store, space, 60, { source: { ...fork, repository: web } })).rejects.toEqual(
      refused({ what: 'repository', of: web, limit: 100, reserved: 60, asked: 60 }),
    )
    await create(store, space, 40, { source: { ...fork, repository: web } })
    await expect(create(store, space, 1, { source: git(web) })).rejects.toEqual(
      refused({ what: 'repository', of: web, limit: 100, reserved: 100, asked: 1 }),
    )
  })

  it('counts for each label by itself, also when it is given later', async () => {
    const store = await open()
    const space = {
      perLabel: [
        { label: 'team', value: 'web', mb: 100 },
        { label: 'user', value: "o'ann=1", mb: 50 },
      ],
    }
    const labels = { team: 'web', other: 'x' }
    await create(store, space, 60, { labels })
    await create(store, space, 900, { labels: { team: 'webs', 'team=web': 'x' } })
    await expect(create(store, space, 60, { labels })).rejects.toEqual(
      refused({ what: 'label', of: 'team=web', limit: 100, reserved: 60, asked: 60 }),
    )
    await create(store, space, 30, { labels: { ...labels, user: "o'ann=1" } })
    await expect(create(store, space, 21, { labels: { user: "o'ann=1" } })).rejects.toEqual(
      refused({ what: 'label', of: "user=o'ann=1", limit: 50, reserved: 30, asked: 21 }),
    )
    const id = await create(store, space, 20)
    const label = (given: EventData['workspace_labelled']['labels']) =>
      store.append(id, 2, [sampleEvent('workspace_labelled', { data: { labels: given } })], { limits: { space } })
    await expect(label(labels)).rejects.toEqual(
      refused({ what: 'label', of: 'team=web', limit: 100, reserved: 90, asked: 20 }),
    )
    await label({ team: 'api' })
  })

  it('a limit of its own that grows, or goes, asks for room as a new workspace does', async () => {
    const store = await open()
    const space = { storeMb: 100 }
    await create(store, space, 60)
    const id = await create(store, space, 20)
    const change = (version: number, max_size_mb: number) =>
      store.append(id, version, [sampleEvent('workspace_limit_set', { data: { max_size_mb } })], { limits: { space } })
    const reserved = { what: 'store', of: null, limit: 100, reserved: 60 }
    await expect(change(2, 41)).rejects.toEqual(refused({ ...reserved, asked: 41 }))
    await expect(change(2, 0)).rejects.toEqual(refused({ ...reserved, asked: 0 }))
    await change(2, 40)
    await change(3, 10)
    expect((await store.get(id))?.config.max_size_mb).toBe(10)
    await create(store, space, 30)
    // What was too much before may become less.
    const large = await create(store, {}, 900)
    await store.append(large, 2, [sampleEvent('workspace_limit_set', { data: { max_size_mb: 800 } })], {
      limits: { space },
    })
  })

  it('gives the last room to one of many that want it at once', async () => {
    const store = await open()
    const tries = await Promise.allSettled(Array.from({ length: 20 }, () => create(store, { storeMb: 75 }, 10)))
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(7)
    expect(await store.list()).toHaveLength(7)
  })
}
