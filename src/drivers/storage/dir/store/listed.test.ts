import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createFrom, importFrozen } from '../create.ts'
import { diffManifests } from './scan/diff-manifests.ts'
import { freeze, scanVolume } from '../snapshot.ts'
import { usageOfFrozen, verifyFrozen } from './inspect.ts'
import { type Manifest, readManifest } from './manifest.ts'
import { openObjects } from './objects.ts'
import { readFrozenFile } from './scan/read-file.ts'
import { openStore, type Store } from './store.ts'
import { sweep } from './sweep.ts'

let root: string
let store: Store
const at = (...path: string[]): string => join(root, ...path)
const objects = (): string[] => [...openObjects(root).all()]
const areas = (): string[] => [at('snapshots'), at('bases')]

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'aw-listed-'))
  for (const name of ['volumes/v/work/d', 'folder/d', 'snapshots', 'bases', 'tmp'])
    fs.mkdirSync(at(name), { recursive: true })
  for (const tree of ['volumes/v/work', 'folder']) {
    fs.writeFileSync(at(tree, 'a'), 'one\n')
    fs.writeFileSync(at(tree, 'd/b'), 'two\n')
    fs.writeFileSync(at(tree, 'empty'), '')
    fs.writeFileSync(at(tree, 'zeros'), Buffer.concat([Buffer.alloc(70_000), Buffer.from('end')]))
  }
  store = openStore(root)
})

afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

async function list(still = true): Promise<Manifest> {
  await freeze(store, at('volumes/v'), at('bases/b'), { listed: true, still })
  return readManifest(at('bases/b')) as Manifest
}

const read = (manifest: Manifest, path: string, folder?: string): string =>
  readFrozenFile(store, manifest, path, {
    maxBytes: 1e6,
    beside: folder === undefined ? undefined : { folder, into: 'work' },
  }).toString()

it.each([true, false])('says what a tree was and keeps no content (still: %s)', async (still) => {
  const listed = await list(still)
  expect(listed).toMatchObject({ listed: true, consistency: 'atomic' })
  expect(objects()).toEqual([])
  expect(diffManifests(listed, await scanVolume(store, at('volumes/v')))).toEqual([])
  fs.writeFileSync(at('volumes/v/work/a'), 'eno\n')
  fs.chmodSync(at('volumes/v/work/d/b'), 0o600)
  const told = diffManifests(listed, await scanVolume(store, at('volumes/v')))
  expect(told.map(({ path, what }) => [path, what])).toEqual([
    ['work/a', ['content']],
    ['work/d/b', ['mode']],
  ])
  expect(await verifyFrozen(store, at('bases/b'))).toMatchObject({ method: 'none', problems: [] })
  expect(await usageOfFrozen(store, { file: at('bases/b'), areas: areas() }, { own: true })).toMatchObject({ own: 0 })
})

it('its contents are read where they came from, as long as they are there', async () => {
  const listed = await list()
  expect(read(listed, 'work/a', at('folder'))).toBe('one\n')
  expect(read(listed, 'work/zeros', at('folder'))).toHaveLength(70_003)
  expect(read(listed, 'work/empty')).toBe('')
  const notKept = expect.objectContaining({
    code: 'file_not_found',
    data: { path: 'work/a', reason: 'not_kept' },
  }) as Error
  const { mtime } = fs.statSync(at('folder/a'))
  fs.writeFileSync(at('folder/a'), 'eno\n')
  fs.utimesSync(at('folder/a'), mtime, mtime)
  for (const folder of [at('folder'), at('nowhere'), undefined])
    expect(() => read(listed, 'work/a', folder)).toThrow(notKept)
  fs.writeFileSync(at('elsewhere'), 'one\n')
  fs.rmSync(at('folder/a'))
  fs.symlinkSync('../elsewhere', at('folder/a'))
  expect(() => read(listed, 'work/a', at('folder'))).toThrow(notKept)
})

it('a snapshot keeps all contents though they are remembered, and those are then read from there', async () => {
  fs.utimesSync(at('volumes/v/work/a'), 1, 1)
  const listed = await list()
  await freeze(store, at('volumes/v'), at('snapshots/s'))
  expect(objects()).toHaveLength(3)
  expect(await verifyFrozen(store, at('snapshots/s'))).toMatchObject({ method: 'hashes', problems: [] })
  expect(read(listed, 'work/a')).toBe('one\n')
  // It holds none of them: they go with the snapshot.
  fs.rmSync(at('snapshots/s'))
  await sweep(store, areas())
  expect(objects()).toEqual([])
})

it('a tree is made of it with what is to be had, and the rest is told', async () => {
  const listed = await list()
  fs.writeFileSync(at('folder/a'), 'changed\n')
  const missing: string[] = []
  const beside = { folder: at('folder'), into: 'work' }
  await createFrom(store, listed, at('tmp/t'), { beside, onMissing: (path) => missing.push(path) })
  expect(missing).toEqual(['work/a'])
  expect(fs.readdirSync(at('tmp/t/work')).toSorted()).toEqual(['d', 'empty', 'zeros'])
  expect(fs.readFileSync(at('tmp/t/work/d/b'), 'utf8')).toBe('two\n')
  await expect(createFrom(store, listed, at('tmp/u'), { beside })).rejects.toMatchObject({ code: 'file_not_found' })
  expect(fs.existsSync(at('tmp/u'))).toBe(false)
})

it.each([
  ['nothing', []],
  ['a file that is gone from the folder', ['a']],
])('a tree made of it leaves nothing in the store, which held %s', async (_, kept) => {
  const listed = await list()
  for (const name of kept) {
    fs.mkdirSync(at('volumes/w'))
    fs.renameSync(at('folder', name), at('volumes/w', name))
    await freeze(store, at('volumes/w'), at('snapshots/s'))
  }
  const before = objects()
  expect(before).toHaveLength(kept.length)
  const beside = { folder: at('folder'), into: 'work' }
  // Long enough for what was made to be remembered.
  const flush = async (): Promise<void> => {
    await store.flush()
    await new Promise((resolve) => setTimeout(resolve, 40))
  }
  await createFrom({ ...store, flush }, listed, at('volumes/t'), { beside })
  fs.mkdirSync(at('tmp/i'))
  await importFrozen(store, listed.lines, at('tmp/i'), { listed, beside })
  for (const tree of ['volumes/t', 'tmp/i']) expect(fs.readFileSync(at(tree, 'work/a'), 'utf8')).toBe('one\n')
  expect(objects()).toEqual(before)
  expect(fs.readdirSync(at('incoming'))).toEqual([])
  // Files that were made of it are not taken to be in the store.
  await freeze(store, at('volumes/t'), at('snapshots/t'))
  expect(await verifyFrozen(store, at('snapshots/t'))).toMatchObject({ method: 'hashes', problems: [] })
})
