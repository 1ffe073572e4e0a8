import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Aw } from '../../src/index.ts'
import { codeOf, hasBases, makeRepository, openGround } from './fixture.ts'

/** A log from a back-up does not know what was made since: what is on disk can be had all the same. */

const isLog = (name: string): boolean => name.startsWith('log.')

/** Does something in a home, and then puts its log back to what it was. */
async function forgotten(work: (aw: Aw, base: string) => Promise<void>): Promise<Aw> {
  const { aw: first, base, home } = await openGround()
  await first.create({ id: 'known' })
  await first[Symbol.asyncDispose]()
  for (const name of fs.readdirSync(home).filter(isLog)) fs.cpSync(join(home, name), join(base, name))
  const { aw: second } = await openGround({}, home)
  await work(second, base)
  await second[Symbol.asyncDispose]()
  for (const name of fs.readdirSync(home).filter(isLog)) fs.rmSync(join(home, name))
  for (const name of fs.readdirSync(base).filter(isLog)) fs.cpSync(join(base, name), join(home, name))
  const { aw } = await openGround({}, home)
  return aw
}

const text = async (aw: Aw, id: string, path: string): Promise<string> =>
  Buffer.from(await aw.fs.read(id, { path })).toString()

it('a tree that the log does not know comes back under a name, as it is', async () => {
  const aw = await forgotten(async (before) => {
    await before.create({ id: 'lost', profile: 'session' })
    await before.fs.write('lost', { path: 'mnt/f', content: 'kept' })
    await before.snapshot('lost')
    await before.fs.write('lost', { path: 'mnt/f', content: 'newer' })
    await before.create({ id: 'gone', profile: 'repo' })
    await before.fs.write('gone', { path: 'f', content: 'destroyed' })
    await before.destroy('gone')
  })
  const { orphans } = await aw.recover()
  const of = (area: string): string => orphans.find((tree) => tree.startsWith(`${area}/`)) ?? area
  expect(orphans.map((tree) => tree.split('/')[0] ?? '').toSorted()).toEqual(['snapshots', 'trash', 'volumes'])

  const told = await aw.recover(of('volumes'), { as: 'lost/again' })
  expect(told.made).toMatchObject({ workspace_id: 'lost/again', state: 'ready', profile: 'session' })
  expect(told.orphans.toSorted()).toEqual([of('snapshots'), of('trash')])
  expect(await text(aw, 'lost/again', 'mnt/f')).toBe('newer')
  expect(await text(aw, 'lost/again', '.aw/context.json')).toContain('lost/again')
  await aw.recover(of('trash'), { as: 'gone' })
  expect(await text(aw, 'gone', 'f')).toBe('destroyed')
  expect((await aw.get('gone')).profile).toBe('repo')
  // One that is frozen stays what it is.
  await aw.recover(of('snapshots'), { as: 'older' })
  expect(await text(aw, 'older', 'mnt/f')).toBe('kept')
  expect((await aw.recover()).orphans).toEqual([of('snapshots')])

  await aw.snapshot('lost/again')
  const { sandbox } = await aw.start('lost/again', { isolation: 'none' })
  expect(await codeOf(aw.reset('lost/again', { include_active: true }))).toBe('source_failed')
  // Nothing was ended for it.
  expect(sandbox).not.toBeNull()
  expect((await aw.get('lost/again')).sandbox).toEqual(sandbox)
  expect(await text(aw, 'lost/again', 'mnt/f')).toBe('newer')
  await aw.destroy('lost/again')
  await aw.undelete('lost/again')
  expect((await aw.doctor({ rebuild: true })).ok).toBe(true)
})

it('what is known, half erased or no tree at all is not taken', async () => {
  const aw = await forgotten(async (before) => {
    await before.create({ id: 'lost' })
  })
  const { id } = await aw.get('known')
  const { orphans } = await aw.recover()
  for (const tree of [`volumes/${id}`, `trash/${id}.1.erasing`, 'known', 'volumes/../x', '/etc', 'found/x'])
    expect([tree, await codeOf(aw.recover(tree, { as: 'new' }))]).toEqual([tree, 'workspace_not_found'])
  expect(await codeOf(aw.recover(orphans[0] ?? '', { as: 'known' }))).toBe('workspace_exists')
  expect(await codeOf(aw.recover(orphans[0] ?? '', { as: 'no name' }))).toBe('invalid_name')
  expect(await codeOf(aw.manager.call('recover', { as: 'new' }))).toBe('invalid_input')
  const stolen = aw.manager.call('recover', { id: orphans[0], as: 'new', steal: true })
  await expect(stolen).rejects.toMatchObject({ code: 'invalid_input', data: { field: 'steal' } })
  expect((await aw.recover()).orphans).toEqual(orphans)
})

it('nothing begins as a base that the log does not know: it is made anew, and stays', async () => {
  let repo = ''
  let before: unknown
  const aw = await forgotten(async (earlier, base) => {
    repo = makeRepository({ base })
    const { source, imported } = await earlier.create({ id: 'lost', repo })
    before = { source, imported }
  })
  const made = await aw.create({ id: 'new', repo })
  expect(made).toMatchObject(before as object)
  await aw.recover()
  expect((await aw.bases.list({})).map(({ used_by }) => used_by)).toEqual(hasBases ? [['new/main']] : [])
  expect(await aw.create({ id: 'newer', repo })).toMatchObject(before as object)
  await aw.fs.write('new', { path: 'work/f', content: 'of its own' })
  expect((await aw.diff('new')).map(({ path }) => path)).toEqual(['work/f'])
})
