import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fileSystemOf } from '../../../src/sys/fs/file-system.ts'
import { MB, openHome } from './fixture.ts'

/** What is shared is told apart from what erasing would give back, wherever the storage can tell. */
it('tells of each snapshot, base and tree in the trash what is its own and what it shares', async () => {
  await using home = await openHome()
  const { aw } = home
  const source = `${home.home}-source`
  fs.mkdirSync(source)
  fs.writeFileSync(join(source, 'large'), Buffer.alloc(2 * MB, 'source'))
  const ws = await aw.create({ id: 'a', from: { folder: source } })
  await ws.files.write('work/one', Buffer.alloc(MB, '1'))
  const { id: first } = await aw.snapshot('a')
  await ws.files.write('work/one', Buffer.alloc(MB, '2'))
  const { id: second } = await aw.snapshot('a')
  await aw.fork('a', { to: ['b'] })
  await aw.destroy('b')

  const { workspaces, bases } = await aw.usage({ full: true })
  const [one, other] = ['a/main', 'b/main'].map((name) => workspaces.find((entry) => entry.name === name))
  const kept = one?.snapshots.all ?? []
  expect(kept.map(({ id }) => id)).toEqual([first, second])
  for (const { bytes, own_bytes: own, shared_bytes: shared } of kept) {
    expect(bytes).toBeGreaterThanOrEqual(3 * MB)
    expect((own ?? 0) + (shared ?? 0)).toBe(bytes)
    // What the folder held is in both.
    expect(shared).toBeGreaterThanOrEqual(2 * MB)
  }
  // Nothing else has what the first snapshot has of the file.
  expect(kept[0]?.own_bytes).toBeGreaterThanOrEqual(MB)
  const isBtrfs = fileSystemOf(home.home) === 'btrfs'
  const [tree] = other?.trash.trees ?? []
  expect(tree).toMatchObject({ tree: `${other?.id}.1`, complete: true })
  // On other file systems nobody knows which blocks a plain tree shares.
  expect([tree?.own_bytes, one?.shared_bytes].map((bytes) => bytes === null)).toEqual([!isBtrfs, !isBtrfs])
  expect(bases).toHaveLength(isBtrfs ? 1 : 0)
  for (const base of bases) expect(base).toMatchObject({ own_bytes: 0, shared_bytes: base.bytes })
})

it('counts what only snapshots share, where the storage can tell', async () => {
  await using home = await openHome()
  const { aw } = home
  const ws = await aw.create({ id: 'a' })
  await ws.files.write('work/one', Buffer.alloc(MB, '1'))
  for (const label of ['first', 'second', 'third']) await aw.snapshot('a', { label })
  const together = async (): Promise<number> => (await aw.usage()).workspaces[0]?.snapshots.bytes ?? 0
  const totals = async (): Promise<number> => (await aw.usage()).totals.all.bytes ?? 0
  const isDir = (await aw.usage()).storage.driver === 'dir'
  expect(Math.round((await together()) / MB)).toBe(isDir ? 1 : 0)
  expect(Math.round((await totals()) / MB)).toBe(isDir ? 2 : 1)
  // A template has the same contents; what it takes up is counted there, and once in all.
  await aw.template.create({ name: 't', from: { workspace: 'a' } })
  if (isDir) expect(Math.round((await totals()) / MB)).toBe(2)
})
