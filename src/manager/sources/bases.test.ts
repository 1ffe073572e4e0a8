import { expect, it } from 'vitest'
import { collect } from '../../../test/support/collect.ts'
import { memoryCore } from '../../../test/memory/core.ts'

it('a base is not removed for workspaces in the trash either, and says that they are there', async () => {
  const { manager } = memoryCore()
  await manager.call('create', { id: 'origin' })
  const { base } = await manager.call('template create', { name: 'page', from: { workspace: 'origin' } })
  for (const id of ['one', 'two']) await manager.call('create', { id, template: 'page' })
  await manager.call('template remove', { name: 'page' })
  const refused = (message: string, hint: RegExp): unknown =>
    expect.objectContaining({ code: 'base_in_use', message, hint: expect.stringMatching(hint) as string })
  const remove = () => manager.call('bases remove', { name: base })

  await expect(remove()).rejects.toEqual(refused(`2 workspaces began as ${base}, one/main among them`, /^Remove it/))
  await manager.call('destroy', { id: 'two' })
  await expect(remove()).rejects.toEqual(
    refused(`2 workspaces (1 of them in the trash) began as ${base}, one/main among them`, /aw purge two\/main\./),
  )
  await manager.call('destroy', { id: 'one', purge: true })
  await expect(remove()).rejects.toEqual(
    refused(`A workspace in the trash began as ${base}: two/main`, /aw purge two\/main\. Remove it all the same/),
  )
  await manager.call('purge', { id: 'two' })
  expect(await remove()).toEqual({ removed: base })
})

it('recovery erases what a crash left of a base, and nothing that a workspace names', async () => {
  const { manager, store, disk } = memoryCore()
  await manager.call('create', { id: 'origin' })
  const bases = []
  for (const name of ['used', 'unused'])
    bases.push((await manager.call('template create', { name, from: { workspace: 'origin' } })).base)
  const [used, unused] = bases
  await manager.call('create', { id: 'one', template: 'used' })
  // The log does not know that they were finished.
  const [last] = (await collect(store.read('home', { types: ['base_created'] }))).slice(-1)
  if (last === undefined) throw new Error('no base was made')
  for (const base of bases) {
    const event = {
      ...last,
      id: `ev_${base}` as const,
      type: 'base_removed' as const,
      data: { base, why: 'lost' as const },
    }
    await store.append('home', await store.version('home'), [event])
  }
  await manager.call('recover', {})
  const isThere = (base?: string): boolean => disk.directory(`/storage/bases/${base}`) !== undefined
  expect([isThere(used), isThere(unused)]).toEqual([true, false])
})

it('what a single workspace began as is no base that a user can remove', async () => {
  const { manager, disk } = memoryCore()
  disk.put('/source/file', { kind: 'file', bytes: Buffer.from('kept'), mode: 0o644, mtime: new Date(0) })
  await manager.call('create', { id: 'a', from: { folder: '/source' } })
  const [own = ''] = disk.directory('/storage/bases')?.entries.keys() ?? []
  expect(own).toMatch(/^began-op/)
  for (const name of ['began-op', own])
    for (const force of [false, true])
      await expect(manager.call('bases remove', { name, force })).rejects.toMatchObject({
        code: 'base_not_found',
        message: `There is no base ${name}`,
      })
  expect(disk.directory(`/storage/bases/${own}`)).toBeDefined()
})
