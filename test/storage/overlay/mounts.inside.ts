import { execFileSync, spawn, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { openManager } from '../../../src/aw.ts'
import type { Place } from '../../../src/ports/storage-driver.ts'
import { readTree } from '../../support/tree.ts'
import { overlaySteps } from './steps.ts'
import { fork, open, snap, subject, volume } from './fixture.ts'
import { letGo, unmountBelow } from '../unmount-below.ts'

const program = fileURLToPath(new URL('../../support/programs/overlay-step.ts', import.meta.url))

const layers = (base: string): string[] => fs.readdirSync(join(base, 'storage', 'layers')).toSorted()

it('a hard link of a snapshot stays one when it is written to, and so do all its names in the next snapshot', async () => {
  const { storage, path } = subject()
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'a'), 'old')
  fs.mkdirSync(path(volume, 'd'))
  fs.linkSync(path(volume, 'a'), path(volume, 'd/b'))
  fs.writeFileSync(path(volume, 'c'), 'c')
  await storage.snapshot(volume, snap(1))
  fs.appendFileSync(path(volume, 'd/b'), ' and new')
  fs.appendFileSync(path(volume, 'c'), 'c')
  expect(fs.readFileSync(path(volume, 'a'), 'utf8')).toBe('old and new')
  expect(await storage.snapshot(volume, snap(2))).toMatchObject({ mechanism: 'overlay freeze' })
  await storage.create(fork(1), { from: snap(2) })
  for (const place of [volume, fork(1)]) {
    expect(readTree(path(place), { modes: false })).toEqual({
      a: { kind: 'file', content: 'old and new' },
      c: { kind: 'file', content: 'cc' },
      d: { kind: 'directory' },
      'd/b': { kind: 'hardlink', to: 'a' },
    })
    expect(['a', 'd/b', 'c'].map((name) => fs.statSync(path(place, name)).nlink)).toEqual([2, 2, 1])
  }
})

it('what is being built over nothing is written without a mount, and stays what it was when it is frozen or moved', async () => {
  const { base, storage } = subject()
  const [stage, other]: Place[] = [
    { area: 'tmp', name: 'one' },
    { area: 'tmp', name: 'other' },
  ] as const
  const write = async (place: Place, name: string): Promise<void> => {
    using tree = await storage.reach(place)
    fs.writeFileSync(join(tree.path, name), name)
  }
  for (const place of [stage, other]) {
    await storage.create(place)
    await write(place, 'first')
    await storage.sync(place, { small: true })
  }
  const isMounted = (): boolean => fs.readFileSync('/proc/self/mountinfo', 'utf8').includes(base)
  expect(isMounted()).toBe(false)
  expect(await storage.usage(stage)).toMatchObject({ files: 1, bytes: 5 })

  await storage.snapshot(stage, snap(1))
  await write(stage, 'second')
  await storage.move(stage, volume)
  await storage.move(other, fork(1))
  expect(isMounted()).toBe(true)
  expect(readTree(storage.attachment(volume).path, { modes: false })).toEqual({
    first: { kind: 'file', content: 'first' },
    second: { kind: 'file', content: 'second' },
  })
  await storage.create(fork(2), { from: snap(1) })
  for (const place of [fork(1), fork(2)])
    expect(Object.keys(readTree(storage.attachment(place).path))).toEqual(['first'])
})

it('what was just moved to the trash can be looked at and brought back at once, though the kernel still lets go of it', async () => {
  const { storage, path } = subject()
  const trash: Place = { area: 'trash', name: 'ws' }
  await storage.create(volume)
  for (let round = 1; round <= 10; round++) {
    // Something to wait for.
    fs.writeFileSync(path(volume, `${round}`), Buffer.alloc(2 ** 20, round))
    await storage.move(volume, trash)
    expect(fs.existsSync(path(volume))).toBe(false)
    expect(await storage.usage(trash)).toMatchObject({ files: round })
    await storage.move(trash, volume)
    expect(fs.readdirSync(path(volume))).toHaveLength(round)
  }
})

it('tells what a tree has beyond the one it began as, whatever was frozen of it since', async () => {
  const { storage, path } = subject()
  const beyond = async (base: Place) => (await storage.usage(fork(1), { beyond: base })).beyond
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'large'), Buffer.alloc(5000))
  await storage.snapshot(volume, snap(1))
  await storage.create(fork(1), { from: snap(1) })
  expect(await beyond(snap(1))).toBe(0)
  fs.writeFileSync(path(fork(1), 'own'), Buffer.alloc(300))
  expect(await beyond(snap(1))).toBe(300)
  await storage.snapshot(fork(1), snap(2))
  fs.writeFileSync(path(fork(1), 'more'), Buffer.alloc(40))
  expect(await beyond(snap(1))).toBe(340)
  expect(await beyond(snap(2))).toBe(40)
  await storage.create(fork(2))
  await storage.snapshot(fork(2), snap(3))
  expect(await beyond(snap(3))).toBeNull()
  expect(await beyond(snap(9))).toBeNull()
})

it('is mounted again after a reboot, and nobody writes below it until then', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'a'), '1')
  await storage.snapshot(volume, snap(1))
  fs.writeFileSync(path(volume, 'b'), '2')
  const before = readTree(path(volume), { times: true })
  unmountBelow(base)
  expect(fs.statSync(path(volume)).mode & 0o7777).toBe(0)
  const writing = ['--reuid', '65534', '--regid', '65534', '--clear-groups', 'touch', path(volume, 'x')]
  expect(spawnSync('setpriv', writing).status).not.toBe(0)
  expect(() => fs.writeFileSync(path(volume, 'x'), '')).toThrow('EPERM')
  const again = open(base)
  expect(await again.exists(volume)).toBe(true)
  await again.ready(volume)
  expect(readTree(path(volume), { times: true })).toEqual(before)
  unmountBelow(base)
  expect(await again.snapshot(volume, snap(2))).toMatchObject({ mechanism: 'overlay freeze' })
  unmountBelow(base)
  await again.restore(volume, snap(1), snap(3))
  expect(fs.readdirSync(path(volume))).toEqual(['a'])
})

it('what others put where a tree is to be mounted is kept, told and in nobody’s way', async () => {
  const { base, storage, path } = subject()
  for (const place of [volume, fork(1)]) await storage.create(place)
  fs.writeFileSync(path(volume, 'a'), 'one')
  letGo(base)
  for (const place of [volume, fork(1)]) {
    fs.mkdirSync(path(place), { recursive: true })
    fs.writeFileSync(path(place, 'stray'), place.name)
  }
  await storage.ready(volume)
  expect(fs.readdirSync(path(volume))).toEqual(['a'])
  await storage.erase(fork(1))
  const found = ['fork_1.1', 'ws.1'].map((name): Place => ({ area: 'found', name }))
  expect(await storage.list()).toEqual([volume, ...found])
  expect(found.map((place) => fs.readFileSync(path(place, 'stray'), 'utf8'))).toEqual(['fork_1', 'ws'])
  letGo(base)
  fs.writeFileSync(path(volume, 'stray'), 'again')
  await storage.erase(volume)
  expect(fs.readFileSync(path({ area: 'found', name: 'ws.2' }, 'stray'), 'utf8')).toBe('again')
  for (const place of await storage.list()) await storage.erase(place)
  expect(await storage.list()).toEqual([])
})

it('erasing clears the mount points that killed processes left, and no mount of somebody else', async () => {
  const { base, storage, path } = subject()
  const trash: Place = { area: 'trash', name: 'ws' }
  await storage.create(volume)
  await storage.create(fork(1))
  await storage.create(fork(2))
  fs.mkdirSync(path(fork(3)))
  execFileSync('mount', ['-t', 'tmpfs', 'none', path(fork(3))])
  fs.writeFileSync(path(fork(3), 'theirs'), 'kept')
  // As if the process had been killed before it unmounted them.
  for (const place of [fork(1), fork(2)]) fs.rmSync(join(base, 'storage', 'records', `${place.area}.${place.name}`))
  execFileSync('umount', [path(fork(2))])
  await storage.move(volume, trash)
  await storage.erase(trash)
  expect(fs.readdirSync(join(base, 'storage', 'volumes'))).toEqual([fork(3).name])
  expect(fs.readFileSync(path(fork(3), 'theirs'), 'utf8')).toBe('kept')
})

it('recover goes on past a workspace that cannot be mounted, and tells what it found in the place of another', async () => {
  const { base } = subject()
  const home = join(base, 'home')
  const openHome = () => openManager({ home, env: {}, set: { 'storage.driver': 'overlay' } })
  const made = []
  {
    await using manager = await openHome()
    for (const id of ['a', 'b', 'c']) made.push(await manager.call('create', { id }))
  }
  const [a, b, c] = made.map(({ path }) => fs.realpathSync.native(path))
  letGo(base)
  const root = join(home, 'storage')
  const [layer = ''] = fs.readlinkSync(join(root, 'records', `volumes.${basename(a ?? '')}`)).split(':')
  fs.renameSync(join(root, 'layers', layer), join(base, 'away'))
  fs.writeFileSync(join(b ?? '', 'stray'), 'kept')
  await using manager = await openHome()
  const told = await manager.call('recover', {})
  expect(told.failed).toMatchObject([{ name: 'a/main', operation: 'mount' }])
  expect(told.orphans).toEqual([`found/${basename(b ?? '')}.1`])
  expect(fs.readFileSync(join(root, told.orphans[0] ?? '', 'stray'), 'utf8')).toBe('kept')
  for (const tree of [b, c]) expect(fs.readdirSync(tree ?? '')).toContain('work')
})

it('a storage root that was copied file by file says so, and its snapshots can still be forked', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'a'), 'one')
  await storage.snapshot(volume, snap(1))
  fs.writeFileSync(path(volume, 'a'), 'two')
  unmountBelow(base)
  const copy = subject()
  execFileSync('cp', ['-a', `${base}/.`, copy.base])
  const copied = open(copy.base)
  const refused = { code: 'storage_unavailable', hint: expect.stringContaining('fork') as string }
  await expect(copied.ready(volume)).rejects.toMatchObject(refused)
  await expect(copied.snapshot(volume, snap(2))).rejects.toMatchObject(refused)
  await copied.create(fork(1), { from: snap(1) })
  expect(fs.readFileSync(copy.path(fork(1), 'a'), 'utf8')).toBe('one')
  fs.appendFileSync(copy.path(fork(1), 'a'), ' more')
  expect((await copied.read(snap(1), 'a', { maxBytes: 9 })).toString()).toBe('one')
})

it('a snapshot of what has not changed adds no layer', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'a'), 'one')
  await storage.snapshot(volume, snap(1))
  const before = layers(base)
  await storage.snapshot(volume, snap(2), { since: snap(1) })
  await storage.create(fork(1), { from: snap(2) })
  expect(layers(base)).toHaveLength(before.length + 1)
  expect(await storage.usage(snap(1), { own: true })).toMatchObject({ files: 1, bytes: 3, own: 0 })
})

it('has no more layers than are good for it, however many snapshots are made', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'base'), 'here')
  const said = new Set<string>()
  for (let i = 0; i < 110; i++) {
    fs.writeFileSync(path(volume, `f${i % 7}`), String(i))
    said.add((await storage.snapshot(volume, snap(i))).mechanism)
  }
  expect([...said]).toEqual(['overlay freeze', 'overlay freeze, layers flattened'])
  const records = fs.readdirSync(join(base, 'storage', 'records')).filter((name) => name !== '.mounts')
  const depths = records.map((name) => {
    return fs.readlinkSync(join(base, 'storage', 'records', name)).split(':').length
  })
  expect(Math.max(...depths)).toBeLessThan(104)
  for (const i of [0, 50, 99, 100, 101, 109])
    expect((await storage.read(snap(i), `f${i % 7}`, { maxBytes: 9 })).toString()).toBe(String(i))
  expect((await storage.read(snap(109), 'base', { maxBytes: 9 })).toString()).toBe('here')
  for (const place of await storage.list()) await storage.erase(place)
  expect(layers(base)).toEqual(['0', '1'])
})

it('forks are whole or not made while others erase what they are made from', async () => {
  const { base, storage } = subject()
  await storage.create(volume)
  const run = (what: string): Promise<string> => {
    const child = spawn(process.execPath, [program, base, what], { stdio: ['ignore', 'pipe', 'inherit'] })
    return new Promise((resolve) => {
      let text = ''
      child.stdout.on('data', (data) => (text += String(data)))
      child.once('close', () => resolve(text))
    })
  }
  const [snapshots, forks] = await Promise.all([run('snapshot and erase'), run('fork and look')])
  expect(snapshots).toBe('done')
  const { made, refused, wrong } = JSON.parse(forks) as { made: number; refused: number; wrong: unknown[] }
  expect(wrong).toEqual([])
  expect(made).toBeGreaterThan(0)
  expect(made + refused).toBe(60)
})

const operations = ['create', 'fork', 'move', 'trash', 'snapshot', 'restore', 'erase'] as const

it.each(operations)('%s: killed at any step, everything is as it was or as it is to be', async (operation) => {
  let reached = 0
  for (let step = 1, done = false; !done; step++) {
    const base = fs.mkdtempSync(join(tmpdir(), 'aw-crash-'))
    try {
      const steps = overlaySteps(base)
      await steps['prepare']?.()
      const { status, signal } = spawnSync(process.execPath, [program, base, operation], {
        env: { ...process.env, AW_CRASH_AT: String(step) },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      expect([0, 'SIGKILL']).toContain(signal ?? status)
      done = signal === null
      // A process that was killed leaves its mounts; a power cut does not.
      if (step % 2 === 0) unmountBelow(base)
      await expect(steps[`check ${operation}`]?.(), `step ${step}`).resolves.toBeUndefined()
      reached = step
    } finally {
      letGo(base)
      fs.rmSync(base, { recursive: true })
    }
  }
  expect(reached).toBeGreaterThan(3)
})
