/** What is on disk of a snapshot is changed, or goes. As root, and as an ordinary user. */
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Place, StorageDriver } from '../../../src/ports/storage-driver.ts'
import { collect } from '../../support/collect.ts'
import { fork, snap, subject, volume } from './fixture.ts'

async function write(storage: StorageDriver, name: string, content: string): Promise<void> {
  using tree = await storage.reach(volume)
  fs.writeFileSync(join(tree.path, name), content)
}

/** Two snapshots, the second with a layer of its own. */
async function withTwo() {
  const { base, storage } = subject()
  await storage.create(volume)
  await write(storage, 'one', 'first')
  await storage.snapshot(volume, snap(1))
  await write(storage, 'two', 'second')
  await storage.snapshot(volume, snap(2))
  const layerOf = (place: Place): string =>
    fs.readlinkSync(join(base, `storage/records/${place.area}.${place.name}`)).split(':')[0] ?? ''
  return { storage, layer: (place: Place) => join(base, 'storage/layers', layerOf(place)) }
}

it('a file that was changed, came or went is told, in every snapshot that has it', async () => {
  const { storage, layer } = await withTwo()
  for (const n of [1, 2])
    expect(await storage.verify(snap(n))).toMatchObject({ method: 'none', files: n, problems: [] })
  for (const n of [1, 2])
    expect(await storage.verify(snap(n))).toMatchObject({ method: 'hashes', files: n, problems: [] })
  fs.writeFileSync(join(layer(snap(1)), 'fs/one'), 'FIRST')
  fs.rmSync(join(layer(snap(2)), 'fs/two'))
  fs.writeFileSync(join(layer(snap(2)), 'fs/three'), 'new')
  const changed = { path: 'one', message: 'it is not what it was: content' }
  expect(await storage.verify(snap(1))).toMatchObject({ method: 'hashes', problems: [changed] })
  expect((await storage.verify(snap(2))).problems.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
    changed,
    { path: 'three', message: 'it was not there' },
    { path: 'two', message: 'it is missing' },
  ])
})

it('a record that is damaged, or went, is made again', async () => {
  const { storage, layer } = await withTwo()
  await storage.verify(snap(1))
  for (const damage of [
    () => fs.appendFileSync(join(layer(snap(1)), 'tree'), 'x'),
    () => fs.rmSync(join(layer(snap(1)), 'tree')),
  ]) {
    damage()
    expect((await storage.verify(snap(1))).method).toBe('none')
    expect((await storage.verify(snap(1))).method).toBe('hashes')
  }
  expect(fs.readdirSync(layer(snap(1))).toSorted()).toEqual(expect.arrayContaining(['fs', 'tree']))
})

it('a layer that is missing is named, whatever needs it', async () => {
  const { storage, layer } = await withTwo()
  const gone = layer(snap(2))
  fs.renameSync(gone, `${gone}-away`)
  const named = {
    code: 'filesystem_error',
    message: expect.stringContaining('is missing') as string,
    data: { reason: 'damaged' },
  }
  const asked = [
    () => storage.verify(snap(2)),
    () => storage.read(snap(2), 'two', { maxBytes: 10 }),
    () => storage.usage(snap(2)),
    () => storage.create(fork(1), { from: snap(2) }),
    () => collect(storage.diff(snap(1), snap(2))),
    () => storage.restore(volume, snap(2), snap(3)),
  ]
  for (const ask of asked) await expect(ask()).rejects.toMatchObject(named)
  expect((await storage.verify(snap(1))).problems).toEqual([])
  fs.renameSync(`${gone}-away`, gone)
  expect((await storage.verify(snap(2))).problems).toEqual([])
})
