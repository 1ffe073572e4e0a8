import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freeze } from '../snapshot.ts'
import { verifyFrozen } from './inspect.ts'
import { openObjects } from './objects.ts'
import { openStore, type Store } from './store.ts'

let root: string
let store: Store
const volume = (name = ''): string => join(root, 'volume', name)
const snapshot = (name: string): string => join(root, 'snapshots', name)
const large = Buffer.alloc(3 * 1024 * 1024, 'large')

beforeEach(async () => {
  root = fs.mkdtempSync(join(tmpdir(), 'aw-damaged-'))
  fs.mkdirSync(volume())
  fs.mkdirSync(join(root, 'snapshots'))
  store = openStore(root)
  fs.writeFileSync(volume('small'), 'content')
  fs.writeFileSync(volume('large'), large)
  // So that the index remembers them.
  await sleep(60)
  await freeze(store, volume(), snapshot('one'))
})
afterEach(() => fs.rmSync(root, { recursive: true, force: true }))

function damageAll(damage: (path: string) => void): void {
  const objects = openObjects(root)
  for (const content of objects.all()) {
    fs.chmodSync(objects.path(content), 0o600)
    damage(objects.path(content))
  }
}

const flip = (path: string): void => fs.writeFileSync(path, fs.readFileSync(path).fill('x', 1, 2))
const touchAll = (): void => {
  for (const name of ['small', 'large']) fs.utimesSync(volume(name), 1, 1)
}
const verified = (name: string) => verifyFrozen(store, snapshot(name))

test('a content that was cut short is stored again as soon as a file has it', async () => {
  damageAll((path) => fs.truncateSync(path, 3))
  touchAll()
  await freeze(store, volume(), snapshot('two'))
  for (const name of ['two', 'one']) expect(await verified(name)).toMatchObject({ files: 2, problems: [] })
})

test('what was found damaged is put aside and stored again, though the index knows the files', async () => {
  damageAll(flip)
  expect((await verified('one'))?.problems.map(({ message }) => message)).toEqual([
    'its content is damaged',
    'its content is damaged',
  ])
  expect(fs.readdirSync(join(root, 'damaged'))).toHaveLength(2)
  await freeze(store, volume(), snapshot('two'))
  for (const name of ['two', 'one']) expect(await verified(name)).toMatchObject({ files: 2, problems: [] })
})

test('of one that is missing nothing is put aside, and the next snapshot has it again', async () => {
  damageAll((path) => fs.unlinkSync(path))
  expect((await verified('one'))?.problems).toHaveLength(2)
  expect(fs.readdirSync(join(root, 'damaged'))).toEqual([])
  await freeze(store, volume(), snapshot('two'))
  expect(await verified('one')).toMatchObject({ problems: [] })
})

test('damage is told though nothing can be put aside', async () => {
  damageAll(flip)
  fs.writeFileSync(join(root, 'damaged'), 'no directory')
  expect((await verified('one'))?.problems).toHaveLength(2)
})

test('while somebody adds to the store nothing is put aside', { timeout: 10_000 }, async () => {
  damageAll(flip)
  {
    using _ = await store.enter()
    expect((await verified('one'))?.problems).toHaveLength(2)
  }
  expect(fs.existsSync(join(root, 'damaged'))).toBe(false)
})
