import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished, vi } from 'vitest'
import { btrfs } from '../../../src/drivers/storage/btrfs/kernel/ioctls.ts'
import { code } from '../../contracts/storage.ts'
import { type Opened, openBtrfs, snap, volume } from './fixture.ts'

const program = fileURLToPath(new URL('../../support/programs/restore-btrfs.ts', import.meta.url))

const textOf = (opened: Opened, place: typeof volume): string =>
  fs.readFileSync(join(opened.path(place), 'file'), 'utf8')

async function withHistory(): Promise<Opened> {
  const opened = openBtrfs()
  await opened.storage.create(volume)
  fs.writeFileSync(join(opened.path(volume), 'file'), 'first')
  await opened.storage.snapshot(volume, snap(1))
  fs.writeFileSync(join(opened.path(volume), 'file'), 'second')
  return opened
}

it('is finished or undone after a crash before any of its steps', async () => {
  const seen: string[] = []
  for (let at = 1; ; at++) {
    const before = await withHistory()
    const env = { PATH: process.env['PATH'], AW_CRASH_AT: String(at) }
    const { status, signal, stderr } = spawnSync(process.execPath, [program, before.base], { env, encoding: 'utf8' })
    expect(`${stderr}${signal ?? status}`).toMatch(/^(SIGKILL|0)$/)
    const opened = openBtrfs(before.base)
    const { storage } = opened
    const kept = await storage.exists(snap(2))
    const frozen = await storage.restore(volume, snap(1), snap(2), { resume: snap(3) })
    const outcome = frozen === undefined ? 'undone' : 'finished'
    // A snapshot is there as a whole or not at all, and only if the restore counts.
    if (kept) expect(outcome).toBe('finished')
    expect([outcome, textOf(opened, volume)]).toEqual([outcome, outcome === 'undone' ? 'second' : 'first'])
    const places = outcome === 'undone' ? [volume, snap(1)] : [volume, snap(1), snap(2)]
    expect(await storage.list()).toEqual(places)
    if (outcome === 'finished') expect(textOf(opened, snap(2))).toBe('second')
    // Whatever it came to, it can be done, and nothing is left of it.
    await storage.restore(volume, snap(1), snap(4))
    await storage[Symbol.asyncDispose]()
    await storage.erase(snap(4))
    expect(treesLeft(opened.root)).toEqual([])
    if (seen.at(-1) !== outcome) seen.push(outcome)
    if (status === 0) break
  }
  expect(seen).toEqual(['undone', 'finished'])
})

it('keeps what was written up to the exchange, and lets nobody write to it afterwards', async () => {
  const opened = await withHistory()
  const { storage } = opened
  const fd = fs.openSync(join(opened.path(volume), 'file'), 'r+')
  try {
    fs.writeSync(fd, 'third!', 0)
    expect(await storage.restore(volume, snap(1), snap(2))).toMatchObject({ consistency: 'atomic' })
    fs.writeSync(fd, 'fourth', 0)
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
  expect(textOf(opened, snap(2))).toBe('third!')
  expect(textOf(opened, volume)).toBe('first')
})

it('exchanges trees that their owner may not write to', async () => {
  const opened = await withHistory()
  fs.chmodSync(opened.path(volume), 0o555)
  await opened.storage.snapshot(volume, snap(5))
  await opened.storage.restore(volume, snap(5), snap(2))
  expect(fs.statSync(opened.path(volume)).mode & 0o777).toBe(0o555)
  expect(fs.statSync(opened.path(snap(2))).mode & 0o777).toBe(0o555)
  expect(textOf(opened, volume)).toBe('second')
})

it('changes nothing if the old tree cannot be kept', async () => {
  const opened = await withHistory()
  const { storage } = opened
  const nowhere = { area: 'snapshots', name: 'missing/sn_2' } as const
  await expect(storage.restore(volume, snap(1), nowhere)).rejects.toThrow('ENOENT')
  expect(textOf(opened, volume)).toBe('second')
  expect(await storage.list()).toEqual([volume, snap(1)])
  await storage[Symbol.asyncDispose]()
  await storage.erase(snap(9))
  expect(treesLeft(opened.root)).toEqual([])
  await expect(storage.restore(volume, snap(7), snap(2))).rejects.toEqual(code('snapshot_not_found'))
})

it('does not take the old tree apart while somebody waits, and leaves it to nobody for long', async () => {
  const opened = await withHistory()
  const destroyed = spyOnDestroying()
  await opened.storage.restore(volume, snap(1), snap(2))
  expect(destroyed()).toBe(0)
  expect(treesLeft(opened.root)).toHaveLength(1)
  await expect.poll(() => treesLeft(opened.root), { timeout: 30_000 }).toEqual([])
  // A program that ends leaves it to whoever erases something next.
  await opened.storage.restore(volume, snap(1), snap(3))
  await opened.storage[Symbol.asyncDispose]()
  expect(treesLeft(opened.root)).toHaveLength(1)
  await opened.storage.erase(snap(3))
  expect(treesLeft(opened.root)).toEqual([])
})

it('can be done again if the power failed before the old tree was out of the way for good', async () => {
  const opened = await withHistory()
  const { storage, root } = opened
  await storage.restore(volume, snap(1), snap(2))
  await storage[Symbol.asyncDispose]()
  const other = join(root, 'work', `restore.${volume.name}`)
  const [left = ''] = treesLeft(root)
  fs.renameSync(join(root, 'work', left), other)
  await storage.restore(volume, snap(2), snap(3))
  expect(textOf(opened, volume)).toBe('second')
  // Not so if nothing holds what was in it.
  await storage[Symbol.asyncDispose]()
  const [again = ''] = treesLeft(root).toReversed()
  fs.renameSync(join(root, 'work', again), other)
  await storage.erase(snap(3))
  await expect(storage.restore(volume, snap(1), snap(4))).rejects.toEqual(code('invalid_state'))
  expect(fs.readFileSync(join(other, 'file'), 'utf8')).toBe('first')
})

/** How often a subvolume was removed since. */
function spyOnDestroying(): () => number {
  const calls = [vi.spyOn(btrfs, 'destroy'), vi.spyOn(btrfs, 'destroyLater')]
  onTestFinished(() => calls.forEach((call) => call.mockRestore()))
  return () => calls.reduce((sum, call) => sum + call.mock.calls.length, 0)
}

/** What the driver keeps to itself, but for the notes on what discarded trees were made from. */
const treesLeft = (root: string): string[] => [
  ...fs.readdirSync(join(root, 'work')).filter((name) => name !== 'discarded' && !name.startsWith('lineage.')),
  ...namesIn(join(root, 'work', 'discarded')).map((name) => join('discarded', name)),
]

const namesIn = (path: string): string[] => (fs.existsSync(path) ? fs.readdirSync(path) : [])
