import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { overlayStorage } from '../../../src/drivers/storage/overlay/driver.ts'
import type { Place } from '../../../src/ports/storage-driver.ts'

const volume: Place = { area: 'volumes', name: 'ws' }
const fork: Place = { area: 'volumes', name: 'fork' }
const staged: Place = { area: 'tmp', name: 'op' }
const trashed: Place = { area: 'trash', name: 'ws.1' }
const snap = (n: number): Place => ({ area: 'snapshots', name: `sn_${n}` })

/** What the tests of the overlay driver do to a storage root, here or in another process. */
export function overlaySteps(base: string): Record<string, () => Promise<void>> {
  const storage = overlayStorage({ root: join(base, 'storage'), claim: join(base, 'id') })

  async function within<T>(place: Place, use: (path: string) => T): Promise<T> {
    using reached = await storage.reach(place)
    return use(reached.path)
  }
  const write = (place: Place, content: string): Promise<void> =>
    within(place, (path) => writeFileSync(join(path, 'a'), content))

  async function content(place: Place): Promise<string | undefined> {
    if (!(await storage.exists(place))) return undefined
    return (await storage.read(place, 'a', { maxBytes: 99 })).toString()
  }

  return {
    async prepare() {
      await storage.create(volume)
      await write(volume, 'one')
      await storage.snapshot(volume, snap(1))
      await write(volume, 'two')
      await storage.create(staged, { from: snap(1) })
    },
    create: async () => void (await storage.create(fork)),
    fork: async () => void (await storage.create(fork, { from: snap(1) })),
    move: () => storage.move(staged, fork),
    trash: () => storage.move(volume, trashed),
    snapshot: async () => void (await storage.snapshot(volume, snap(2))),
    restore: async () => void (await storage.restore(volume, snap(1), snap(2))),
    erase: () => storage.erase(volume),
    look: async () => {
      await content(snap(1))
      await write(volume, 'two')
    },

    async 'check create'() {
      if (await storage.exists(fork)) {
        assert.deepEqual(await within(fork, (path) => readdirSync(path)), [])
      } else await storage.create(fork)
      await others()
    },
    async 'check fork'() {
      if (!(await storage.exists(fork))) await storage.create(fork, { from: snap(1) })
      assert.equal(await content(fork), 'one')
      await others()
    },
    async 'check move'() {
      if (await storage.exists(staged)) {
        assert.equal(await storage.exists(fork), false)
        assert.equal(await content(staged), 'one')
        await storage.move(staged, fork)
      }
      assert.equal(await storage.exists(staged), false)
      assert.equal(await content(fork), 'one')
      await write(fork, 'changed')
      await others()
    },
    async 'check trash'() {
      if (await storage.exists(volume)) await storage.move(volume, trashed)
      assert.equal(await storage.exists(volume), false)
      await storage.move(trashed, volume)
      await others()
    },
    async 'check snapshot'() {
      assert.ok([undefined, 'two'].includes(await content(snap(2))))
      if (!(await storage.exists(snap(2)))) await storage.snapshot(volume, snap(2))
      await write(volume, 'three')
      assert.equal(await content(snap(2)), 'two')
      assert.equal(await content(volume), 'three')
      await write(volume, 'two')
      await others()
    },
    async 'check restore'() {
      const finished = await storage.restore(volume, snap(1), snap(2), { resume: snap(9) })
      assert.equal(await storage.exists(snap(2)), finished !== undefined)
      assert.equal(await content(volume), finished === undefined ? 'two' : 'one')
      if (finished === undefined) await storage.restore(volume, snap(1), snap(2))
      assert.equal(await content(volume), 'one')
      await write(volume, 'two')
      assert.equal(await content(snap(2)), 'two')
      await others()
    },
    'check look': () => others(),
    async 'check erase'() {
      if (await storage.exists(volume)) assert.equal(await content(volume), 'two')
      await storage.erase(volume)
      assert.equal(await storage.exists(volume), false)
      assert.equal(await content(snap(1)), 'one')
      await tidy()
    },

    /** Snapshots that share layers come and go. */
    async 'snapshot and erase'() {
      for (let i = 0; i < 60; i++) {
        await write(volume, String(i))
        await storage.snapshot(volume, snap(i))
        if (i >= 2) await storage.erase(snap(i - 2))
      }
      process.stdout.write('done')
    },
    async 'fork and look'() {
      const told = { made: 0, refused: 0, wrong: [] as string[] }
      while (!(await storage.list()).some(({ area }) => area === 'snapshots')) await setImmediate()
      for (let i = 0; i < 60; i++) {
        const [latest] = (await storage.list()).filter(({ area }) => area === 'snapshots')
        const from = latest ?? snap(0)
        const place: Place = { area: 'volumes', name: `fork_${i}` }
        try {
          await storage.create(place, { from })
        } catch (error) {
          if ((error as { code?: string }).code !== 'snapshot_not_found') throw error
          told.refused += 1
          continue
        }
        told.made += 1
        const seen = await within(place, (path) => readFileSync(join(path, 'a'), 'utf8'))
        if (`sn_${seen}` !== from.name) told.wrong.push(`${from.name}: ${seen}`)
        if (i % 3 === 0) await storage.erase(place)
      }
      process.stdout.write(JSON.stringify(told))
    },
  }

  /** What the operation had nothing to do with is as it was, and a removal finds everything that was left. */
  async function others(): Promise<void> {
    assert.equal(await content(snap(1)), 'one')
    assert.equal(await content(volume), 'two')
    await tidy()
  }

  async function tidy(): Promise<void> {
    for (const place of await storage.list()) await storage.erase(place)
    assert.deepEqual(readdirSync(join(base, 'storage', 'layers')).toSorted(), ['0', '1'])
    for (const area of ['volumes', 'tmp', 'dead', 'records']) {
      const left = readdirSync(join(base, 'storage', area)).filter((name) => !['.mounts', '.looks'].includes(name))
      assert.deepEqual(left, [], area)
    }
  }
}
