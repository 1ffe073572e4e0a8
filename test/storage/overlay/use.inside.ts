import { execFileSync, spawn, spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { standing } from '../../support/background-process.ts'
import { code } from '../../contracts/storage.ts'
import { readTree } from '../../support/tree.ts'
import { fork, snap, subject, volume } from './fixture.ts'
import { unmountBelow } from '../unmount-below.ts'

/** Who uses a tree, by whatever mount, and what that means for its snapshots. */

/** A shell in a mount namespace of its own. */
const elsewhere = (script: string, how: readonly string[] = []): Promise<AsyncDisposable> =>
  standing(['unshare', '--mount', ...how, 'sh', '-ec', script])

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

/**
 * A new mount namespace, kept by a file. The kernel lets one be kept only in one with a lower number, and since 6.18 it gives
 * numbers by processor: so each processor is tried, of which the one that made our own always has a higher one.
 */
function keepNamespace(file: string): void {
  const isKept = cpus().some((_, cpu) => {
    const { status } = spawnSync('taskset', ['-c', String(cpu), 'unshare', `--mount=${file}`, 'true'])
    return status === 0
  })
  if (!isKept) throw new Error('No mount namespace can be kept here')
}

it('a mount in a namespace that no process is in counts too, where the kernel tells of such', async () => {
  const { base, storage, path } = subject()
  await storage.create(volume)
  const [major = 0, minor = 0] = release().split('.').map(Number)
  const tells = major > 6 || (major === 6 && minor >= 12)
  const kept = join(base, 'kept')
  fs.writeFileSync(kept, '')
  keepNamespace(kept)
  try {
    expect(await storage.isIdle?.(volume)).toBe(!tells)
  } finally {
    execFileSync('umount', [kept])
  }
  await expect.poll(() => storage.isIdle?.(volume)).toBe(true)
  expect(fs.existsSync(path(volume))).toBe(true)
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
