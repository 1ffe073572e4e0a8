/** More snapshots than there may be layers: those above the base become one. As root, and as an ordinary user. */
import fc from 'fast-check'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Place, StorageDriver } from '../../../src/ports/storage-driver.ts'
import { type Edit, editHost } from '../../support/edits.ts'
import { edit } from '../../support/random-storage.ts'
import { readTree, type Tree } from '../../support/tree.ts'
import { fork, snap, subject, volume } from './fixture.ts'

const base: Place = { area: 'bases', name: 'base' }
const flattened = 'overlay freeze, layers flattened'

const stackOf = (root: string, { area, name }: Place): string[] =>
  fs.readlinkSync(join(root, 'storage', 'records', `${area}.${name}`)).split(':')

async function inTree<T>(storage: StorageDriver, place: Place, use: (path: string) => T): Promise<T> {
  using tree = await storage.reach(place)
  return use(tree.path)
}

const read = (storage: StorageDriver, place: Place): Promise<Tree> =>
  inTree(storage, place, (path) => readTree(path, { times: true }))

/** A volume made from a base with these files. */
async function fromBase(storage: StorageDriver, make: (path: string) => void): Promise<void> {
  const first = fork(0)
  await storage.create(first)
  await inTree(storage, first, make)
  await storage.snapshot(first, base)
  await storage.create(volume, { from: base })
}

it('what the base has stays in the base', async () => {
  const { base: root, storage } = subject()
  const big = 'x'.repeat(1_000_000)
  await fromBase(storage, (path) => fs.writeFileSync(join(path, 'big'), big))
  const said: string[] = []
  for (let i = 0; i < 104; i++) {
    await inTree(storage, volume, (path) => fs.writeFileSync(join(path, `f${i % 7}`), String(i)))
    said.push((await storage.snapshot(volume, snap(i))).mechanism)
  }
  const at = said.indexOf(flattened)
  expect(at).toBeGreaterThan(90)
  const below = stackOf(root, base)
  // The changes since the snapshot before, all changes before that, the base.
  expect(stackOf(root, snap(at))).toHaveLength(below.length + 2)
  expect(stackOf(root, snap(at)).slice(2)).toEqual(below)
  const usage = await storage.usage(volume, { beyond: base })
  expect(usage).toMatchObject({ files: 8, bytes: expect.any(Number) as number })
  expect(usage.beyond).toBeLessThan(1000)
  // Told by what the layers name, not by a look at all.
  expect(await storage.snapshot(volume, snap(200), { since: snap(at - 1) })).toMatchObject({ changed: 104 - at })
})

/** Of what the base has, each layer changes a file and a directory that no other one does. */
function makeParts(path: string): void {
  for (let i = 0; i < 60; i++) {
    fs.writeFileSync(join(path, `file-${i}`), `${i}`)
    fs.mkdirSync(join(path, `dir-${i}/deep`), { recursive: true })
    fs.writeFileSync(join(path, `dir-${i}/deep/x`), `${i}`)
    fs.linkSync(join(path, `dir-${i}/deep/x`), join(path, `dir-${i}/twin`))
  }
}

const onFile: readonly ((file: string) => void)[] = [
  (file) => fs.rmSync(file),
  (file) => fs.appendFileSync(file, ' more'),
  (file) => fs.renameSync(file, `${file}-moved`),
  (file) => fs.chmodSync(file, 0o600),
  (file) => {
    fs.rmSync(file)
    fs.mkdirSync(file)
  },
]

const onDirectory: readonly ((directory: string) => void)[] = [
  (directory) => fs.rmSync(directory, { recursive: true }),
  (directory) => fs.rmSync(join(directory, 'deep'), { recursive: true }),
  (directory) => {
    fs.rmSync(directory, { recursive: true })
    fs.mkdirSync(directory)
  },
  (directory) => {
    fs.rmSync(directory, { recursive: true })
    fs.writeFileSync(directory, '')
  },
  (directory) => fs.appendFileSync(join(directory, 'twin'), ' more'),
  (directory) => fs.chmodSync(directory, 0o700),
  move,
]

/** Where the kernel does not move directories of lower layers, they are copied, as by mv. */
function move(directory: string): void {
  try {
    fs.renameSync(directory, `${directory}-moved`)
  } catch (error) {
    expect(error).toMatchObject({ code: 'EXDEV' })
    fs.cpSync(directory, `${directory}-moved`, { recursive: true })
    fs.rmSync(directory, { recursive: true })
  }
}

function changePart(path: string, i: number): void {
  onFile[i % onFile.length]?.(join(path, `file-${i}`))
  onDirectory[i % onDirectory.length]?.(join(path, `dir-${i}`))
}

it('shows what was there, whatever was done to it, and so does what is made from it', async () => {
  const seed = Number(process.env['AW_SEED'] ?? Date.now() % 1_000_000)
  console.log(`AW_SEED=${seed}: 100 layers of random changes over a base`)
  const edits = fc.array(edit, { minLength: 3, maxLength: 6 })
  const lives = fc.tuple(
    fc.array(edit, { minLength: 60, maxLength: 60 }),
    fc.array(edits, { minLength: 106, maxLength: 106 }),
  )
  const [life] = fc.sample(lives, { seed, numRuns: 1 })
  const [first, layers] = life ?? [[], []]
  const attempt = (path: string, each: Edit): void => {
    try {
      editHost(path, each)
    } catch {
      // It did not fit.
    }
  }
  const { storage } = subject()
  await fromBase(storage, (path) => {
    makeParts(path)
    for (const each of first) attempt(path, each)
  })
  const trees: Tree[] = []
  const said: string[] = []
  for (const [i, some] of layers.entries()) {
    await inTree(storage, volume, (path) => {
      for (const each of some) attempt(path, each)
      if (i < 60) changePart(path, i)
      fs.writeFileSync(join(path, `own-${i}`), String(i))
    })
    trees.push(await read(storage, volume))
    said.push((await storage.snapshot(volume, snap(i))).mechanism)
    expect(await read(storage, volume)).toEqual(trees[i])
  }
  const at = said.indexOf(flattened)
  expect(at).toBeGreaterThan(90)
  for (const i of [at - 1, at, at + 1, layers.length - 1]) {
    await storage.create(fork(i), { from: snap(i) })
    expect(await read(storage, fork(i))).toEqual(trees[i])
  }
})
