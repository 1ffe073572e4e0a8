import * as fc from 'fast-check'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import type { Place } from '../../../src/ports/storage-driver.ts'
import { makeSubvolume } from '../../../src/drivers/storage/btrfs/kernel/subvolume.ts'
import { native } from '../../../src/sys/syscalls/native.ts'
import { anyEdits, live } from './edits.ts'
import { type Opened, openBtrfs, snap, volume } from './fixture.ts'

const fork: Place = { area: 'volumes', name: 'ws_2' }

const beyond = async ({ storage }: Opened, place: Place, base: Place): Promise<number | null | undefined> =>
  (await storage.usage(place, { maxFiles: 1, beyond: base })).beyond

/** By a walk through both. */
async function walked({ storage }: Opened, place: Place, base: Place): Promise<number> {
  const [tree, frozen] = [await storage.usage(place), await storage.usage(base)]
  return Math.max(0, tree.bytes - frozen.bytes)
}

it('is what a walk through both trees finds, for any history', async () => {
  await fc.assert(
    fc.asyncProperty(anyEdits, anyEdits, anyEdits, anyEdits, async (first, second, third, forked) => {
      const opened = openBtrfs()
      const { storage } = opened
      await storage.create(volume)
      live(opened, volume, first)
      await storage.snapshot(volume, snap(1))
      live(opened, volume, second)
      const same = async (place: Place, base: Place): Promise<void> =>
        expect([place, await beyond(opened, place, base)]).toEqual([place, await walked(opened, place, base)])
      await same(volume, snap(1))
      await storage.snapshot(volume, snap(2))
      await storage.create(fork, { from: snap(2) })
      live(opened, fork, forked)
      for (const base of [snap(1), snap(2)]) await same(fork, base)
      // By way of a tree that is gone.
      await storage.restore(volume, snap(1), snap(3))
      live(opened, volume, third)
      for (const base of [snap(1), snap(2), snap(3)]) await same(volume, base)
    }),
    { numRuns: 20 },
  )
})

it('is looked for only where something was written', async () => {
  const opened = openBtrfs()
  const { storage } = opened
  await storage.create(volume)
  for (let n = 0; n < 1000; n++) {
    const directory = join(opened.path(volume), `d${Math.floor(n / 10)}`)
    fs.mkdirSync(directory, { recursive: true })
    fs.writeFileSync(join(directory, `f${n}`), `${n}`)
  }
  await storage.snapshot(volume, snap(1))
  fs.writeFileSync(join(opened.path(volume), 'd7', 'f70'), 'x'.repeat(100))
  fs.rmSync(join(opened.path(volume), 'd9'), { recursive: true })
  const asked = vi.spyOn(native() ?? expect.fail('no system calls'), 'ioctl')
  onTestFinished(() => asked.mockRestore())
  const before = await walked(opened, volume, snap(1))
  asked.mockClear()
  expect(await beyond(opened, volume, snap(1))).toBe(before)
  expect(before).toBe(100 - '70'.length - 10 * '90'.length)
  // The root, two directories and eleven files, on both sides, and what it takes to find them.
  expect(asked.mock.calls.length).toBeGreaterThan(10)
  expect(asked.mock.calls.length).toBeLessThan(100)
})

it('is not told of trees that have no common origin, or have subvolumes in them', async () => {
  const opened = openBtrfs()
  const { storage } = opened
  await storage.create(volume)
  await storage.create(fork)
  await storage.snapshot(fork, snap(1))
  expect(await beyond(opened, volume, snap(1))).toBe(null)
  expect(await beyond(opened, fork, snap(1))).toBe(0)
  expect(await beyond(opened, fork, { area: 'snapshots', name: 'gone' })).toBe(null)
  makeSubvolume(join(opened.path(fork), 'nested'))
  fs.writeFileSync(join(opened.path(fork), 'nested', 'file'), 'more')
  expect(await beyond(opened, fork, snap(1))).toBe(null)
})
