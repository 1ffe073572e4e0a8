import { expect, it } from 'vitest'
import type { Manager } from '../../ports/manager.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import { foldSnapshots } from '../../domain/workspace/snapshots.ts'
import { collect } from '../../../test/support/collect.ts'
import { memoryCore } from '../../../test/memory/core.ts'

const refused = (code: string, data: object = {}): Error =>
  expect.objectContaining({ code, data: expect.objectContaining(data) as object }) as Error

const contentOf = async (manager: Manager): Promise<string> =>
  Buffer.from((await manager.call('fs read', { id: 'a', path: 'work/f' })) as Uint8Array).toString()

it('without a limit there are as many snapshots as are asked for', async () => {
  const { manager } = memoryCore({ set: { 'snapshots.max': '0' } })
  await manager.call('create', { id: 'a' })
  for (let i = 0; i < 30; i++) await manager.call('snapshot', { id: 'a', auto: i % 2 === 0 })
  expect(await manager.call('snapshots', { id: 'a' })).toHaveLength(30)
})

it('a limit that was lowered is kept by whoever comes next, and says how many there are', async () => {
  const { manager, disk } = memoryCore({ set: { 'snapshots.max': '2' } })
  await manager.call('create', { id: 'a' })
  const first = await manager.call('snapshot', { id: 'a', auto: true })
  await manager.call('snapshot', { id: 'a' })
  await manager.call('snapshot', { id: 'a', auto: true })
  const left = (await manager.call('snapshots', { id: 'a' })).map(({ id }) => id)
  expect(left).toHaveLength(2)
  expect(left).not.toContain(first.id)
  expect(disk.directory(`/storage/snapshots/${first.id}`)).toBeUndefined()
  await manager.call('snapshot', { id: 'a' })
  const kept = (await manager.call('snapshots', { id: 'a' })).map(({ id }) => id)
  await expect(manager.call('snapshot', { id: 'a' })).rejects.toEqual(refused('snapshot_limit', { limit: 2, count: 2 }))
  expect((await manager.call('snapshots', { id: 'a' })).map(({ id }) => id)).toEqual(kept)
})

it('a key that is empty is refused, as all snapshots would be the first', async () => {
  const { manager } = memoryCore()
  await manager.call('create', { id: 'a' })
  for (const key of ['', ' ', 'k'.repeat(201)])
    await expect(manager.call('snapshot', { id: 'a', key })).rejects.toEqual(refused('invalid_input', { field: 'key' }))
  expect(await manager.call('snapshots', { id: 'a' })).toEqual([])
})

it('forks count as workspaces: the one that is too many says so, and the others are there', async () => {
  const { manager } = memoryCore({ set: { 'workspaces.max_workspaces': '3' } })
  await manager.call('create', { id: 'a' })
  const { forks } = await manager.call('fork', { id: 'a', count: 4 })
  expect(forks.map(({ ok, error }) => error?.code ?? ok)).toEqual([true, true, 'limit_reached', 'limit_reached'])
  await expect(manager.call('fork', { id: 'a' })).rejects.toEqual(refused('limit_reached'))
  expect(await manager.call('list', {})).toHaveLength(3)
})

it('what a process works in is not restored unless that is named; a snapshot and a fork do not mind', async () => {
  const { manager, machine } = memoryCore()
  const { id } = await manager.call('create', { id: 'a' })
  await manager.call('fs write', { id: 'a', path: 'work/f', content: 'one' })
  await manager.call('snapshot', { id: 'a', label: 'one' })
  await manager.call('fs write', { id: 'a', path: 'work/f', content: 'two' })
  machine.use(`/storage/volumes/${id}/work`, { pid: 7, command: 'make', uses: 'cwd' })
  await expect(manager.call('restore', { id: 'a' })).rejects.toEqual(refused('workspace_active'))
  await expect(manager.call('restore', { id: 'a', paths: ['work/f'] })).rejects.toEqual(refused('workspace_active'))
  await expect(manager.call('undo', { id: 'a' })).rejects.toEqual(refused('workspace_active'))
  expect(await contentOf(manager)).toBe('two')
  await manager.call('snapshot', { id: 'a' })
  await manager.call('fork', { id: 'a' })
  await manager.call('restore', { id: 'a', snapshot: 'one', include_active: true })
  expect(await contentOf(manager)).toBe('one')
})

it('a snapshot that something else removed is not restored, and recovery takes it from the log', async () => {
  const { manager, disk } = memoryCore()
  await manager.call('create', { id: 'a' })
  await manager.call('fs write', { id: 'a', path: 'work/f', content: 'one' })
  const one = await manager.call('snapshot', { id: 'a', label: 'one' })
  const two = await manager.call('snapshot', { id: 'a', label: 'two' })
  disk.remove(`/storage/snapshots/${one.id}`)
  for (const paths of [undefined, ['work/f']])
    await expect(manager.call('restore', { id: 'a', snapshot: 'one', paths })).rejects.toEqual(
      refused('snapshot_not_found', { snapshot: one.id }),
    )
  await expect(manager.call('fork', { id: 'a', at: 'one' })).rejects.toEqual(refused('snapshot_not_found'))
  expect((await manager.call('verify', {})).intact).toBe(false)
  expect(await manager.call('recover', {})).toMatchObject({ lost: ['a/main'], orphans: [] })
  expect(await manager.call('snapshots', { id: 'a' })).toMatchObject([{ id: two.id, parent: null }])
  expect(await manager.call('verify', {})).toMatchObject({ intact: null })
  expect(await manager.call('list', { all: true })).toHaveLength(2)
})

it('a snapshot on disk that the log does not know is told, and kept', async () => {
  const { manager, disk } = memoryCore()
  await manager.call('create', { id: 'a' })
  disk.makeDirectory('/storage/snapshots/snap_foreign')
  for (const _ of [1, 2])
    expect(await manager.call('recover', {})).toMatchObject({ orphans: ['snapshots/snap_foreign'], lost: [] })
  expect(disk.directory('/storage/snapshots/snap_foreign')).toBeDefined()
})

it('forks that are stopped on the way: each is told when it is made, and in the end which are there', async () => {
  const { manager } = memoryCore()
  await manager.call('create', { id: 'a' })
  const stop = new AbortController()
  const told: string[] = []
  const asked = manager.call(
    'fork',
    { id: 'a', to: ['x/one', 'x/two', 'x/three'] },
    {
      signal: stop.signal,
      onProgress: ({ made }) => {
        if (made === undefined) return
        told.push(made.name)
        if (told.length === 2) stop.abort()
      },
    },
  )
  await expect(asked).rejects.toEqual(refused('aborted', { made: ['x/one', 'x/two'], asked: 3 }))
  await expect(asked).rejects.toMatchObject({ hint: 'Made, and kept: x/one, x/two. Not made: x/three' })
  expect(told).toEqual(['x/one', 'x/two'])
  expect((await manager.call('list', {})).map(({ workspace_id: name }) => name)).toEqual(['a/main', 'x/one', 'x/two'])
  await expect(manager.call('fork', { id: 'a@head' })).rejects.toMatchObject({ hint: 'aw fork a --at head' })
  const { id: snapshot } = await manager.call('snapshot', { id: 'a' })
  const hint = `aw create NAME --from-workspace ${snapshot}`
  await expect(manager.call('fork', { id: snapshot })).rejects.toMatchObject({ code: 'invalid_input', hint })
})

it('an automatic one makes room only when the new one is there: if that fails, nothing goes', async () => {
  const { manager } = memoryCore({ set: { 'snapshots.max': '1' } })
  await manager.call('create', { id: 'a' })
  const first = await manager.call('snapshot', { id: 'a', auto: true, key: 'one' })
  const stopped = manager.call('snapshot', { id: 'a', auto: true }, { signal: AbortSignal.abort() })
  await expect(stopped).rejects.toEqual(refused('aborted'))
  expect(await manager.call('snapshots', { id: 'a' })).toMatchObject([{ id: first.id, head: true }])
  const second = await manager.call('snapshot', { id: 'a', auto: true })
  expect(await manager.call('snapshots', { id: 'a' })).toMatchObject([{ id: second.id, parent: null, head: true }])
  expect(await manager.call('snapshot', { id: 'a', auto: true, key: 'one' })).toMatchObject({ created: true })
})

it('what is wrong with a name of a snapshot is told, with the way on', async () => {
  const { manager } = memoryCore()
  await manager.call('create', { id: 'a' })
  const { id } = await manager.call('snapshot', { id: 'a' })
  const restore = (snapshot: string) => manager.call('restore', { id: 'a', snapshot })
  await expect(restore('main')).rejects.toMatchObject({ hint: 'It is a branch: aw restore a/main --branch main' })
  expect(await restore(id.slice(0, 20))).toMatchObject({ snapshot: id })
  await expect(restore(id.slice(0, 12))).rejects.toEqual(refused('snapshot_not_found'))
  await manager.call('reset', { id: 'a' })
  expect(await manager.call('describe', { id: 'a' })).toMatchObject({ head: null, snapshots: 1 })
  await expect(restore('head')).rejects.toMatchObject({
    message: 'a/main has no head: its tree grew from no snapshot',
    hint: expect.stringContaining('aw restore a/main SNAPSHOT') as string,
  })
})

it('what is known of snapshots is what whoever comes anew finds, after whatever was done to them', async () => {
  const opened = memoryCore({ set: { 'snapshots.max': '0' } })
  const { manager } = opened
  await manager.call('create', { id: 'a' })
  const ids: string[] = []
  const seen = async (): Promise<void> => {
    const fresh = foldSnapshots(
      await collect(opened.store.read((await manager.call('show', { id: 'a' })).id as WorkspaceId)),
    )
    expect((await manager.call('snapshots', { id: 'a' })).map(({ id, label }) => [id, label])).toEqual(
      [...fresh.values()].map(({ snapshot, label }) => [snapshot, label]),
    )
  }
  for (let n = 0; n < 6; n++) {
    await manager.call('fs write', { id: 'a', path: 'work/f', content: `${n}` })
    ids.push((await manager.call('snapshot', { id: 'a' })).id)
    await seen()
  }
  await manager.call('snapshot label', { id: 'a', snapshot: ids[1] ?? '', label: 'second' })
  await seen()
  await manager.call('restore', { id: 'a', snapshot: ids[2] })
  await seen()
  await manager.call('snapshot remove', { id: 'a', snapshots: ids.slice(4, 5) })
  await seen()
})
