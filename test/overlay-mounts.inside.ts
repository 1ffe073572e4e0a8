import { execFileSync, spawn, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { openManager } from '../src/aw.ts'
import { overlayStorage } from '../src/drivers/storage/overlay.ts'
import type { Place, StorageDriver } from '../src/ports/storage-driver.ts'
import { standing } from '../src/testing/standing.ts'
import { code } from '../src/testing/storage-contract.ts'
import { readTree } from '../src/testing/tree.ts'
import { overlaySteps } from './overlay-steps.ts'
import { letGo, unmountBelow } from './storage/unmount-below.ts'

const volume: Place = { area: 'volumes', name: 'ws' }
const fork = (n: number): Place => ({ area: 'volumes', name: `fork_${n}` })
const snap = (n: number): Place => ({ area: 'snapshots', name: `sn_${n}` })
const program = fileURLToPath(new URL('programs/overlay-step.ts', import.meta.url))

interface Subject {
  readonly base: string
  readonly storage: StorageDriver
  readonly path: (place: Place, name?: string) => string
}

function subject(): Subject {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-overlay-'))
  onTestFinished(() => {
    letGo(base)
    fs.rmSync(base, { recursive: true })
  })
  const storage = open(base)
  return { base, storage, path: (place, name = '') => join(storage.attachment(place).path, name) }
}

const open = (base: string): StorageDriver => overlayStorage({ root: join(base, 'storage'), claim: join(base, 'id') })

const layers = (base: string): string[] => fs.readdirSync(join(base, 'storage', 'layers')).toSorted()

/** A shell in a mount namespace of its own. */
const elsewhere = (script: string, how: readonly string[] = []): Promise<AsyncDisposable> =>
  standing(['unshare', '--mount', ...how, 'sh', '-ec', script])

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

it('a tree that another namespace writes to is live, though the host could unmount it', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  await storage.snapshot(volume, snap(0))
  fs.writeFileSync(path(volume, 'log'), '')
  const count = `i=0; while :; do i=$((i + 1)); echo $i >> ${base}/box/log; [ $i = 3 ] && echo writing; done`
  fs.mkdirSync(join(base, 'box'))
  {
    await using _ = await elsewhere(`mount --bind ${path(volume)} ${base}/box; umount ${path(volume)}; ${count}`)
    const made = await storage.snapshot(volume, snap(1))
    expect(made.mechanism).toBe('overlay copy of changes')
    await expect(storage.restore(volume, snap(0), snap(2))).rejects.toEqual(code('workspace_active'))
    expect(await storage.list()).toEqual([volume, snap(0), snap(1)])
  }
  const numbers = fs.readFileSync(path(volume, 'log'), 'utf8').trim().split('\n').map(Number)
  expect(numbers).toEqual(numbers.map((_, i) => i + 1))
  const kept = (await storage.read(snap(1), 'log', { maxBytes: 2 ** 30 })).toString()
  expect(fs.readFileSync(path(volume, 'log'), 'utf8').startsWith(kept)).toBe(true)
  expect(await storage.snapshot(volume, snap(3))).toMatchObject({ mechanism: 'overlay freeze' })
})

it('a process that works in it makes it live, and what it has not changed meanwhile is of one instant', async () => {
  const { storage, path } = subject()
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'a'), 'one')
  await storage.snapshot(volume, snap(1))
  fs.mkdirSync(path(volume, 'd'))
  fs.writeFileSync(path(volume, 'd/b'), 'two', { mode: 0o640 })
  fs.linkSync(path(volume, 'd/b'), path(volume, 'd/c'))
  fs.renameSync(path(volume, 'a'), path(volume, 'd/a'))
  await using _ = await elsewhere(`cd ${path(volume)}; echo there; exec sleep 60`)
  const made = await storage.snapshot(volume, snap(2), { consistent: true, since: snap(1) })
  expect(made).toEqual({ mechanism: 'overlay copy of changes', consistency: 'atomic', changed: 5 })
  await storage.create(fork(1), { from: snap(2) })
  expect(readTree(path(fork(1)), { times: true })).toEqual(readTree(path(volume), { times: true }))
  await expect(storage.restore(volume, snap(1), snap(3))).rejects.toEqual(code('workspace_active'))
})

it('copies of a mount in another namespace make it live, and are left alone', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'a'), 'one')
  {
    await using _ = await elsewhere(
      `echo there; until [ -e ${base}/go ]; do sleep 0.05; done; cat ${path(volume)}/a >${base}/seen; exec sleep 60`,
    )
    expect(await storage.snapshot(volume, snap(1))).toMatchObject({ mechanism: 'overlay copy of changes' })
    await expect(storage.restore(volume, snap(1), snap(2))).rejects.toMatchObject({
      code: 'workspace_active',
      hint: expect.stringMatching(/^Process \d+ has it mounted/) as string,
    })
    unmountBelow(base)
    const refused = storage.ready(volume)
    await expect(refused).rejects.toMatchObject({
      code: 'workspace_active',
      data: { elsewhere: [{ path: path(volume), process: expect.any(Number) as number }] },
    })
    fs.writeFileSync(join(base, 'go'), '')
    await expect
      .poll(() => fs.existsSync(join(base, 'seen')) && fs.readFileSync(join(base, 'seen'), 'utf8'))
      .toBe('one')
  }
  await storage.ready(volume)
  expect(fs.readFileSync(path(volume, 'a'), 'utf8')).toBe('one')
})

it('copies that go when the mount goes do not make it live', async () => {
  const { base, storage, path } = subject()
  execFileSync('mount', ['--bind', base, base])
  try {
    execFileSync('mount', ['--make-shared', base])
    await storage.create(volume)
    fs.writeFileSync(path(volume, 'a'), 'one')
    await using _ = await elsewhere('echo there; exec sleep 60', ['--propagation', 'slave'])
    expect(await storage.snapshot(volume, snap(1))).toMatchObject({ mechanism: 'overlay freeze' })
    fs.writeFileSync(path(volume, 'a'), 'two')
    await storage.restore(volume, snap(1), snap(2))
    expect(fs.readFileSync(path(volume, 'a'), 'utf8')).toBe('one')
  } finally {
    unmountBelow(base)
    execFileSync('umount', [base])
  }
})

it('is idle if nobody has anything open in it, by whatever mount, and stays as it is when that is asked', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  fs.writeFileSync(path(volume, 'a'), 'text')
  const isIdle = async (): Promise<boolean | undefined> => storage.isIdle?.(volume)
  for (let times = 0; times < 3; times++) {
    expect(await isIdle()).toBe(true)
    expect(fs.readFileSync(join(base, 'storage', 'volumes', volume.name, 'a'), 'utf8')).toBe('text')
  }
  // Asked twice with nothing in between, the kernel has unmounted it; it is there all the same.
  expect([await isIdle(), await isIdle(), await isIdle()]).toEqual([true, true, true])
  expect(fs.readFileSync(path(volume, 'a'), 'utf8')).toBe('text')

  const fd = fs.openSync(path(volume, 'a'), 'r')
  expect(await isIdle()).toBe(false)
  fs.closeSync(fd)
  expect(await isIdle()).toBe(true)
  {
    await using _ = await standing(['sh', '-ec', `cd '${path(volume)}'; echo ready; exec sleep 60`])
    expect(await isIdle()).toBe(false)
  }
  {
    await using _ = await elsewhere('echo ready; exec sleep 60')
    expect(await isIdle()).toBe(false)
  }
  const other = join(base, 'other')
  fs.mkdirSync(other)
  execFileSync('mount', ['--bind', path(volume), other])
  expect(await isIdle()).toBe(false)
  execFileSync('umount', [other])
  expect(await isIdle()).toBe(true)
  expect(await storage.isIdle?.({ area: 'volumes', name: 'absent' })).toBe(false)
})

it('what others put where a tree is to be mounted is kept, told and in nobody’s way', async () => {
  const { base, storage, path } = subject()
  for (const place of [volume, fork(1)]) await storage.create(place)
  fs.writeFileSync(path(volume, 'a'), 'one')
  letGo(base)
  for (const place of [volume, fork(1), fork(2)]) {
    fs.mkdirSync(path(place), { recursive: true })
    fs.writeFileSync(path(place, 'stray'), place.name)
  }
  await storage.ready(volume)
  expect(fs.readdirSync(path(volume))).toEqual(['a'])
  await storage.erase(fork(1))
  const found = ['fork_1.1', 'fork_2.1', 'ws.1'].map((name): Place => ({ area: 'found', name }))
  expect(await storage.list()).toEqual([volume, ...found])
  expect(found.map((place) => fs.readFileSync(path(place, 'stray'), 'utf8'))).toEqual(['fork_1', 'fork_2', 'ws'])
  letGo(base)
  fs.writeFileSync(path(volume, 'stray'), 'again')
  await storage.erase(volume)
  expect(fs.readFileSync(path({ area: 'found', name: 'ws.2' }, 'stray'), 'utf8')).toBe('again')
  for (const place of await storage.list()) await storage.erase(place)
  expect(await storage.list()).toEqual([])
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

/** Writes numbered files by path until it is killed, and says which it has closed without an error. */
const writer = `
const fs = require('node:fs')
const path = require('node:path')
const out = path.join(process.argv[1], 'work', 'out')
const pause = new Int32Array(new SharedArrayBuffer(4))
for (let i = 1; ; i++) {
  Atomics.wait(pause, 0, 0, 0.2)
  try {
    fs.mkdirSync(out, { recursive: true })
    fs.writeFileSync(path.join(out, String(i)), 'x')
  } catch {
    continue
  }
  fs.writeSync(1, i + '\\n')
}`

it('no write that was acknowledged gets lost while snapshots are taken', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  const log = join(base, 'acknowledged')
  const child = spawn(process.execPath, ['-e', writer, path(volume)], {
    stdio: ['ignore', fs.openSync(log, 'w'), 'inherit'],
  })
  try {
    await expect.poll(() => fs.statSync(log).size, { timeout: 20_000 }).toBeGreaterThan(0)
    for (let i = 0; i < 30; i++) await storage.snapshot(volume, snap(i))
  } finally {
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('exit', resolve))
  }
  const acknowledged = fs.readFileSync(log, 'utf8').trim().split('\n')
  const present = new Set(fs.readdirSync(path(volume, 'work/out')))
  expect(acknowledged.filter((name) => !present.has(name))).toEqual([])
  expect(acknowledged.length).toBeGreaterThan(30)
  unmountBelow(base)
  expect(fs.readdirSync(path(volume))).toEqual([])
  await storage.erase(volume)
  expect(fs.readdirSync(join(base, 'storage', 'volumes'))).toEqual([])
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
  const depths = fs.readdirSync(join(base, 'storage', 'records')).map((name) => {
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
