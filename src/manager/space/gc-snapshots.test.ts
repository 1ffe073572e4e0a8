import { expect, it } from 'vitest'
import type { Manager } from '../../ports/manager.ts'
import { memoryCore } from '../../../test/memory/core.ts'

const refused = (code: string, hint: string): Error =>
  expect.objectContaining({ code, hint: expect.stringContaining(hint) as string }) as Error

const write = (manager: Manager, content: string, path = 'work/f') =>
  manager.call('fs write', { id: 'a', path, content })

const idsOf = async (manager: Manager, id: string): Promise<string[]> =>
  (await manager.call('snapshots', { id })).map((one) => one.id)

/** A workspace with an automatic, a labelled and a plain snapshot and a safety copy, whose tree somebody removed. */
async function lostWorkspace() {
  const { manager, disk } = memoryCore()
  const { id } = await manager.call('create', { id: 'a', labels: { team: 'x' } })
  await write(manager, 'automatic')
  const auto = await manager.call('snapshot', { id: 'a', auto: true })
  await write(manager, 'labelled')
  const labelled = await manager.call('snapshot', { id: 'a', auto: true, label: 'good' })
  await write(manager, 'overwritten')
  await manager.call('restore', { id: 'a', snapshot: 'good' })
  await write(manager, 'last')
  const last = await manager.call('snapshot', { id: 'a' })
  disk.remove(`/storage/volumes/${id}`)
  expect(await manager.call('recover', {})).toMatchObject({ lost: ['a/main'] })
  return { manager, id, auto: auto.id, labelled: labelled.id, last: last.id }
}

it('gc keeps the snapshots of a workspace whose tree was removed from outside, and it is made anew from them', async () => {
  const { manager, id, last } = await lostWorkspace()
  const before = await idsOf(manager, id)
  expect(before).toHaveLength(4)
  expect((await manager.call('gc', {})).items).toEqual([])
  expect(await idsOf(manager, id)).toEqual(before)
  await expect(manager.call('restore', { id: 'a' })).rejects.toEqual(
    refused('workspace_not_found', 'aw undelete a/main'),
  )
  await expect(manager.call('restore', { id })).rejects.toEqual(refused('invalid_state', `aw undelete ${id}`))
  const back = await manager.call('undelete', { id: 'a' })
  expect(back).toMatchObject({ workspace_id: 'a/main', state: 'ready', labels: { team: 'x' } })
  expect(await manager.call('show', { id: 'a' })).toMatchObject({ forked_from: { id, snapshot: last } })
  expect(String(await manager.call('fs read', { id: 'a', path: 'work/f' }))).toBe('last')
  await manager.call('fork', { id, to: ['b'], at: 'good' })
  expect(String(await manager.call('fs read', { id: 'b', path: 'work/f' }))).toBe('labelled')
  await expect(manager.call('fork', { id, to: ['c'] })).rejects.toEqual(refused('invalid_state', 'aw undelete'))
  await expect(manager.call('undelete', { id })).rejects.toEqual(expect.objectContaining({ code: 'workspace_exists' }))
  expect(await manager.call('undelete', { id, as: 'd' })).toMatchObject({ workspace_id: 'd/main' })
})

it('of a lost workspace only what was made by the way goes when the time of the trash is over', async () => {
  const { manager, id, labelled, last } = await lostWorkspace()
  expect((await manager.call('gc', { older_than: '0s' })).items).toHaveLength(2)
  expect(await idsOf(manager, id)).toEqual([labelled, last])
  expect((await manager.call('gc', { older_than: '0s' })).items).toEqual([])
  await manager.call('undelete', { id: 'a' })
})

it('gc of the older trees of a lost workspace leaves its snapshots; a purge that is asked for does not', async () => {
  const { manager, disk } = memoryCore()
  const { id } = await manager.call('create', { id: 'a' })
  await write(manager, 'kept')
  await manager.call('snapshot', { id: 'a' })
  await manager.call('reset', { id: 'a' })
  disk.remove(`/storage/volumes/${id}`)
  await manager.call('recover', {})
  expect((await manager.call('gc', { older_than: '0s' })).items).toMatchObject([{ tree: `${id}.1`, error: null }])
  expect(await idsOf(manager, id)).toHaveLength(1)
  await manager.call('undelete', { id: 'a' })
  expect(String(await manager.call('fs read', { id: 'a', path: 'work/f' }))).toBe('kept')
  await manager.call('destroy', { id: 'a', purge: true })
  expect(await manager.call('purge', { id: 'a' })).toMatchObject({ purged: true })
  expect(await idsOf(manager, id)).toEqual([])
  await expect(manager.call('undelete', { id: 'a' })).rejects.toEqual(refused('workspace_not_found', 'aw list'))
  expect(await manager.call('recover', {})).toMatchObject({ orphans: [], lost: [] })
})

it.each([{ resets: 0 }, { resets: 1 }])(
  'so it is with a tree that was removed from the trash, $resets others in it',
  async ({ resets }) => {
    const { manager, disk } = memoryCore()
    const { id } = await manager.call('create', { id: 'a' })
    for (let i = 0; i < resets; i++) await manager.call('reset', { id: 'a' })
    await write(manager, 'kept')
    await manager.call('snapshot', { id: 'a' })
    await manager.call('destroy', { id: 'a' })
    disk.remove(`/storage/trash/${id}.${resets + 1}`)
    expect(await manager.call('recover', {})).toMatchObject({ lost: ['a/main'] })
    expect((await manager.call('gc', { older_than: '0s' })).items).toHaveLength(resets)
    expect(await idsOf(manager, id)).toHaveLength(1)
    expect(await manager.call('undelete', { id: 'a' })).toMatchObject({ workspace_id: 'a/main', state: 'ready' })
    expect(String(await manager.call('fs read', { id: 'a', path: 'work/f' }))).toBe('kept')
  },
)

it('safety copies that share what nobody else has count once, and the oldest go when they are too large', async () => {
  const { manager } = memoryCore({ set: { 'snapshots.safety_mb': '1' } })
  const { id } = await manager.call('create', { id: 'a' })
  await manager.call('snapshot', { id: 'a', label: 'empty' })
  const large = 'x'.repeat(700 * 1024)
  const restore = async (): Promise<string> =>
    String((await manager.call('restore', { id: 'a', snapshot: 'empty' })).kept)
  await write(manager, large, 'work/one')
  const first = await restore()
  await manager.call('restore', { id: 'a', snapshot: first })
  await write(manager, 'more', 'work/more')
  const second = await restore()
  expect((await manager.call('gc', {})).items).toEqual([])
  await write(manager, `${large}y`, 'work/two')
  const third = await restore()
  const { items } = await manager.call('gc', {})
  expect(items.map(({ tree, reason }) => [tree, reason])).toContainEqual([
    second,
    'safety copies over snapshots.safety_mb',
  ])
  expect(await idsOf(manager, id)).toContain(third)
  expect(await idsOf(manager, id)).not.toContain(first)
  expect((await manager.call('gc', {})).items).toEqual([])
})

it('what a fork began as goes when the fork is gone, unless it was labelled or the tree stands there', async () => {
  const { manager } = memoryCore()
  const { id } = await manager.call('create', { id: 'a' })
  const points: string[] = []
  for (const name of ['b', 'c', 'd', 'e']) {
    await write(manager, name)
    points.push((await manager.call('fork', { id: 'a', to: [name] })).snapshot)
  }
  await manager.call('snapshot label', { id: 'a', snapshot: points[1] ?? '', label: 'keep' })
  for (const name of ['b', 'c', 'e']) await manager.call('destroy', { id: name, purge: true })
  expect((await manager.call('gc', {})).items).toEqual([])
  expect((await manager.call('gc', { older_than: '0s' })).items).toMatchObject([
    { tree: points[0], reason: 'no fork that began as it is left', error: null },
  ])
  expect(await idsOf(manager, id)).toEqual(points.slice(1))
})
