import * as fc from 'fast-check'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openWorkArea } from '../../../src/drivers/storage/btrfs/work-area.ts'
import type { Change, Place } from '../../../src/ports/storage-driver.ts'
import { diffSubvolumes } from '../../../src/drivers/storage/btrfs/kernel/diff.ts'
import { compareTrees } from '../../../src/sys/trees/compare.ts'
import { collect } from '../../support/collect.ts'
import { withoutRenames } from '../../contracts/storage/trees.ts'
import { anyEdits as edits, live } from './edits.ts'
import { type Opened, openBtrfs, snap, volume } from './fixture.ts'

const fork: Place = { area: 'volumes', name: 'ws_2' }

const told = (opened: Opened, from: Place, to: Place): Promise<Change[]> => collect(opened.storage.diff(from, to))

const walked = (opened: Opened, from: Place, to: Place): Promise<Change[]> =>
  compareTrees(opened.path(from), opened.path(to), { identity: 'inode' })

const states = fc.tuple(edits, edits, edits, edits, edits)

it('is what a walk through both trees finds, for any history', async () => {
  await fc.assert(
    fc.asyncProperty(states, async ([first, second, third, forked, restored]) => {
      const opened = openBtrfs()
      const { storage } = opened
      await storage.create(volume)
      live(opened, volume, first)
      await storage.snapshot(volume, snap(1))
      await storage.create(fork, { from: snap(1) })
      live(opened, volume, second)
      await storage.snapshot(volume, snap(2))
      live(opened, volume, third)
      // Of one line, renames included, also against what is not yet written to the disk.
      const line = [snap(1), snap(2), volume]
      for (const from of line)
        for (const to of line)
          if (from !== to) expect(await told(opened, from, to)).toEqual(await walked(opened, from, to))
      // Of two, whose inode numbers may mean different files.
      live(opened, fork, forked)
      await storage.restore(volume, snap(1), snap(3))
      live(opened, volume, restored)
      const all = [snap(1), snap(2), snap(3), volume, fork]
      for (const from of all) {
        for (const to of all) {
          if (from === to) continue
          const [quick, slow] = [await told(opened, from, to), await walked(opened, from, to)]
          expect(withoutRenames(quick)).toEqual(withoutRenames(slow))
        }
      }
      for (const place of await storage.list()) await storage.erase(place)
    }),
    { numRuns: 25 },
  )
}, 300_000)

it('finds no rename where two that have parted gave one number to different files', async () => {
  const opened = openBtrfs()
  const { storage } = opened
  await storage.create(volume)
  await storage.snapshot(volume, snap(1))
  await storage.create(fork, { from: snap(1) })
  fs.writeFileSync(join(opened.path(volume), 'here'), 'x')
  fs.writeFileSync(join(opened.path(fork), 'there'), 'x')
  const [here, there] = [join(opened.path(volume), 'here'), join(opened.path(fork), 'there')]
  expect(fs.statSync(here).ino).toBe(fs.statSync(there).ino)
  expect(await told(opened, volume, fork)).toMatchObject([
    { path: 'here', change: 'removed' },
    { path: 'there', change: 'added' },
  ])
})

it('finds renames, also of a directory with all that is in it, and of trees of other origin nothing but the truth', async () => {
  const opened = openBtrfs()
  const { storage } = opened
  await storage.create(volume)
  live(opened, volume, [
    { do: 'mkdir', path: 'd' },
    { do: 'write', path: 'd/f', content: 'f' },
    { do: 'write', path: 'g', content: 'g' },
  ])
  await storage.snapshot(volume, snap(1))
  live(opened, volume, [{ do: 'rename', path: 'd', to: 'e' }])
  expect(await told(opened, snap(1), volume)).toMatchObject([
    { path: 'e', change: 'renamed', from: 'd' },
    { path: 'e/f', change: 'renamed', from: 'd/f' },
  ])
  await storage.create(fork)
  live(opened, fork, [{ do: 'write', path: 'g', content: 'g' }])
  expect((await told(opened, volume, fork)).map(({ path, change }) => `${change} ${path}`)).toEqual([
    'removed e',
    'removed e/f',
  ])
})

it('counts what has changed since a snapshot', async () => {
  const opened = openBtrfs()
  const { storage } = opened
  await storage.create(volume)
  live(opened, volume, [{ do: 'write', path: 'a', content: 'x' }])
  await storage.snapshot(volume, snap(1))
  live(opened, volume, [
    { do: 'touch', path: 'a', mtime: 1 },
    { do: 'write', path: 'b', content: 'x' },
    { do: 'mkdir', path: '.own' },
  ])
  const { changed } = await storage.snapshot(volume, snap(2), { since: snap(1), exclude: ['.own'] })
  expect(changed).toBe(1)
  expect((await storage.snapshot(volume, snap(3), { since: { area: 'snapshots', name: 'gone' } })).changed).toBe(null)
})

it('compares what a restore kept by what was written, however often it was done', async () => {
  const { storage, root, path } = openBtrfs()
  await storage.create(volume)
  fs.writeFileSync(join(path(volume), 'file'), 'first')
  await storage.snapshot(volume, snap(1))
  for (const number of [2, 3, 4]) {
    await storage.restore(volume, snap(1), snap(number))
    fs.writeFileSync(join(path(volume), 'file'), `change ${number}`)
  }
  // The trees that were replaced are gone; what is known of them is not.
  await storage.erase(snap(9))
  const { erased } = openWorkArea(root)
  const changes = await diffSubvolumes(path(snap(1)), path(snap(4)), { erased })
  expect(changes).toMatchObject([{ path: 'file', change: 'changed', what: ['content'] }])
  expect(await diffSubvolumes(path(snap(1)), path(snap(4)), { erased: () => undefined })).toBeUndefined()
})
