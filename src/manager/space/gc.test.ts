import { expect, it } from 'vitest'
import { toAwError } from '../../domain/errors.ts'
import { memoryCore } from '../../../test/memory/core.ts'

it('gc leaves alone what was brought back and destroyed again while it looked', async () => {
  let at = Date.UTC(2026, 0, 1)
  let meddle: (() => Promise<void>) | undefined
  const { manager } = memoryCore({
    now: () => new Date((at += 1)),
    onMeasure: async () => {
      const act = meddle
      meddle = undefined
      await act?.()
    },
  })
  await manager.call('create', { id: 'a' })
  await manager.call('destroy', { id: 'a' })
  at += 60_000
  meddle = async () => {
    await manager.call('undelete', { id: 'a' })
    await manager.call('fs write', { id: 'a', path: 'work/new', content: 'an hour of work' })
    await manager.call('destroy', { id: 'a' })
  }
  expect(await manager.call('gc', { older_than: '30s' })).toMatchObject({ applied: true, items: [] })
  await manager.call('undelete', { id: 'a' })
  expect(String(await manager.call('fs read', { id: 'a', path: 'work/new' }))).toBe('an hour of work')
})

it('gc keeps the base of a workspace that is still being created', async () => {
  let at = Date.UTC(2026, 0, 1)
  let meddle: (() => Promise<void>) | undefined
  const { manager, disk } = memoryCore({
    now: () => new Date((at += 1)),
    onSync: async () => {
      const act = meddle
      meddle = undefined
      await act?.()
    },
  })
  disk.put('/source/file', { kind: 'file', bytes: Buffer.from('kept'), mode: 0o644, mtime: new Date(0) })
  const bases = (): string[] => [...(disk.directory('/storage/bases')?.entries.keys() ?? [])]
  const seen: unknown[] = []
  meddle = async () => {
    seen.push(bases().length)
    // Longer than an unused base stays.
    at += 90 * 86_400_000
    for (const plan of [true, false]) seen.push((await manager.call('gc', { plan })).items)
  }
  await manager.call('create', { id: 'a', from: { folder: '/source' } })
  expect(seen).toEqual([1, [], []])
  expect(bases()).toEqual([expect.stringMatching(/^began-/)])
})

it('gc and purge keep what a process still works in', async () => {
  const { manager, machine } = memoryCore()
  const { id } = await manager.call('create', { id: 'a' })
  await manager.call('destroy', { id: 'a' })
  machine.use(`/storage/trash/${id}.1`, { pid: 7, command: 'sh', uses: 'cwd' })
  const busy = expect.objectContaining({ code: 'workspace_active' }) as Error
  await expect(manager.call('purge', { id })).rejects.toEqual(busy)
  expect(await manager.call('gc', { older_than: '0s' })).toMatchObject({
    items: [],
    kept: [{ kind: 'tree', workspace: 'a/main', reason: expect.stringContaining('sh (7') as string }],
  })
  expect(await manager.call('purge', { id, include_active: true })).toMatchObject({ purged: true })
})

it('gc tells of trees that a process left which died at an export or a copy, and erases them', async () => {
  const { manager, machine, disk } = memoryCore()
  for (const name of ['scratch_dead', 'scratch_used'])
    disk.put(`/storage/tmp/${name}/f`, { kind: 'file', bytes: Buffer.alloc(500), mode: 0o644, mtime: new Date(0) })
  const used = await machine.host().lock('scratch_used', { timeoutMs: 0 })
  const item = { kind: 'leftover', tree: 'scratch_dead', bytes: 500, workspace: null }
  for (const plan of [true, true, false]) {
    expect((await manager.call('gc', { plan })).items).toMatchObject([item])
  }
  expect(disk.at('/storage/tmp/scratch_dead')).toBeUndefined()
  expect(disk.at('/storage/tmp/scratch_used/f')).toBeDefined()
  used?.[Symbol.dispose]()
  expect((await manager.call('gc', {})).items).toMatchObject([{ ...item, tree: 'scratch_used' }])
})

it('there is one at a time in a home: who comes meanwhile is refused and has removed nothing', async () => {
  const meddling: Promise<unknown>[] = []
  const core = memoryCore({
    onMeasure: async () => {
      if (meddling.length === 0) meddling.push(core.start().manager.call('gc', { older_than: '0s' }).catch(toAwError))
      await Promise.all(meddling)
    },
  })
  const { manager } = core
  await manager.call('create', { id: 'a' })
  await manager.call('destroy', { id: 'a' })
  expect(await manager.call('gc', { older_than: '0s' })).toMatchObject({ applied: true, items: [{ kind: 'tree' }] })
  expect(await meddling[0]).toMatchObject({ code: 'workspace_busy' })
  expect(await manager.call('gc', { older_than: '0s' })).toMatchObject({ applied: true, items: [] })
})
