import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { namespaceSandbox } from '../../../src/drivers/sandbox/namespace.ts'
import { overlayStorage } from '../../../src/drivers/storage/overlay/driver.ts'
import type { Sandbox, SandboxSpec } from '../../../src/ports/sandbox-driver.ts'
import type { Place, StorageDriver } from '../../../src/ports/storage-driver.ts'
import { code } from '../../contracts/storage.ts'
import { collect } from '../../support/collect.ts'
import { overlaySteps } from './steps.ts'
import { startPlanned } from '../../contracts/sandbox.ts'

const volume: Place = { area: 'volumes', name: 'ws' }
const fork: Place = { area: 'volumes', name: 'fork' }
const snap = (n: number): Place => ({ area: 'snapshots', name: `sn_${n}` })

interface Ground {
  readonly base: string
  readonly storage: StorageDriver
}

function ground(): Ground {
  const base = mkdtempSync(join(tmpdir(), 'aw-sandbox-'))
  return { base, storage: overlayStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') }) }
}

/** What a program does that mounts a tree in a user namespace of its own. */
function mounting({ base, storage }: Ground, place: Place, script: string): string[] {
  const it = storage.attachment(place)
  if (it.kind !== 'overlay') throw new Error('It has a path on the host')
  mkdirSync(join(base, 'mnt'), { recursive: true })
  const options = `userxattr,index=on,lowerdir=${it.lower.join(':')},upperdir=${it.upper},workdir=${it.work}`
  return ['-Urm', 'sh', '-ec', `mount -t overlay -o ${options} aw ${base}/mnt; cd ${base}/mnt; ${script}`]
}

const inSandbox = (where: Ground, place: Place, script: string): string =>
  execFileSync('unshare', mounting(where, place, script), { encoding: 'utf8' })

const read = async ({ storage }: Ground, place: Place, path: string): Promise<string> =>
  (await storage.read(place, path, { maxBytes: 99 })).toString()

it('a tree of an ordinary user is used in a sandbox, looked into, frozen, forked and restored', async () => {
  const where = ground()
  const { base, storage } = where
  expect(storage.capabilities.visibility).toBe('sandbox')
  expect(await storage.probe()).toMatchObject({ usable: true })
  await storage.create(volume, { mode: 0o750 })
  inSandbox(where, volume, 'echo one > a; mkdir d; echo two > d/b')
  expect(await read(where, volume, 'd/b')).toBe('two\n')
  expect(await storage.snapshot(volume, snap(1))).toMatchObject({ mechanism: 'overlay freeze', consistency: 'atomic' })
  await storage.create(fork, { from: snap(1) })
  expect(inSandbox(where, fork, 'stat -c %a .; cat a d/b; rm a; echo three > d/c')).toBe('750\none\ntwo\n')
  expect(await collect(storage.diff(snap(1), fork))).toMatchObject([
    { path: 'a', change: 'removed' },
    { path: 'd/c', change: 'added' },
  ])
  expect(inSandbox(where, volume, 'echo other > a; ls d')).toBe('b\n')
  await storage.restore(volume, snap(1), snap(2))
  expect(inSandbox(where, volume, 'cat a')).toBe('one\n')
  expect(await read(where, snap(2), 'a')).toBe('other\n')
  expect(inSandbox(where, fork, 'ls . d')).toBe('.:\nd\n\nd:\nb\nc\n')
  for (const place of await storage.list()) await storage.erase(place)
  expect(await storage.list()).toEqual([])
  expect(readdirSync(join(base, 'storage', 'layers')).toSorted()).toEqual(['0', '1'])
  expect(readdirSync(join(base, 'storage', 'dead'))).toEqual([])
})

it('what its owner may not read is read all the same, also in a snapshot', async () => {
  const where = ground()
  await where.storage.create(volume)
  inSandbox(where, volume, 'mkdir closed; echo secret > closed/a; chmod 0 closed/a closed')
  await where.storage.snapshot(volume, snap(1))
  await where.storage.create(fork)
  await where.storage.import(fork, { place: snap(1) }, { into: '.' })
  expect(inSandbox(where, fork, 'stat -c %a closed; chmod u+rwx closed; stat -c %a closed/a')).toBe('0\n0\n')
  expect(await where.storage.verify(snap(1))).toMatchObject({ problems: [] })
})

/** One that goes on until the test is over, and is in the tree when this resolves. */
async function startSandbox(where: Ground, place: Place, script: string): Promise<() => Promise<void>> {
  const child = spawn('unshare', mounting(where, place, `${script}; echo up; exec sleep 60`), {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(stop)
  await once(child.stdout, 'data')
  return stop
}

it('a tree that a sandbox has mounted is looked into where the sandbox has it, and is in use', async () => {
  const where = ground()
  const { storage } = where
  await storage.create(volume)
  inSandbox(where, volume, 'echo 1 > a')
  await storage.snapshot(volume, snap(1))
  const stop = await startSandbox(where, volume, 'echo 2 > a; echo 3 > b')
  expect(await read(where, volume, 'a')).toBe('2\n')
  {
    using reached = await storage.reach(volume)
    writeFileSync(join(reached.path, 'from-outside'), 'hello')
  }
  expect(await storage.snapshot(volume, snap(2))).toMatchObject({ mechanism: 'overlay copy of changes' })
  expect(await read(where, snap(2), 'from-outside')).toBe('hello')
  await expect(storage.restore(volume, snap(1), snap(3))).rejects.toEqual(code('workspace_active'))
  await stop()
  await storage.restore(volume, snap(1), snap(3))
  expect(await read(where, volume, 'a')).toBe('1\n')
  expect(await read(where, snap(3), 'b')).toBe('3\n')
})

it('everything in one process looks through one mount; another process is waited for, also one that is killed', async () => {
  const where = ground()
  const { storage, base } = where
  await storage.create(volume)
  inSandbox(where, volume, 'echo 1 > a')
  const paths = await Promise.all([1, 2, 3].map(() => storage.reach(volume)))
  expect(new Set(paths.map(({ path }) => path)).size).toBe(1)
  for (const one of paths) writeFileSync(join(one.path, 'written'), 'x')
  // As long as we look into it ourselves, its changes are copied.
  expect(await storage.snapshot(volume, snap(1))).toMatchObject({ mechanism: 'overlay copy of changes' })
  for (const one of paths) one[Symbol.dispose]()
  expect(await storage.snapshot(volume, snap(2))).toMatchObject({ mechanism: 'overlay freeze' })

  const program = fileURLToPath(new URL('../../support/programs/reach-tree.ts', import.meta.url))
  const other = spawn(process.execPath, [program, base], { stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = once(other, 'exit')
  await once(createInterface(other.stdout), 'line')
  const reading = read(where, volume, 'a')
  const first = await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, 200, 'waits'))])
  expect(first).toBe('waits')
  other.kill('SIGKILL')
  await ended
  expect(await reading).toBe('1\n')
})

const spec = (attachment: SandboxSpec['attachment']): SandboxSpec => ({
  attachment,
  mount: '/workspace',
  protect: [],
  binds: [],
  network: { mode: 'none' },
  limits: {},
  defaults: {},
  cgroupRequired: false,
  env: {},
})

async function exec(sandbox: Sandbox, script: string): Promise<string> {
  const { output, exit } = sandbox.exec({ argv: ['sh', '-c', script], cwd: '.', env: {}, limits: {} })
  const said = (await collect(output)).map(({ data }) => Buffer.from(data).toString()).join('')
  expect(await exit).toMatchObject({ code: 0 })
  return said
}

it('a box of ours has it, and is looked into while it runs', async () => {
  const where = ground()
  const { storage, base } = where
  await using driver = namespaceSandbox({ run: join(base, 'run') })
  await storage.create(volume)
  inSandbox(where, volume, 'mkdir work; echo 1 > work/a')
  await storage.snapshot(volume, snap(1))
  await using sandbox = await startPlanned(driver, 'box', spec(storage.attachment(volume)))
  onTestFinished(() => driver.remove('box'))
  expect(await exec(sandbox, 'cat work/a; echo 2 > work/b')).toBe('1\n')
  expect(await read(where, volume, 'work/b')).toBe('2\n')
  {
    using reached = await storage.reach(volume)
    writeFileSync(join(reached.path, 'work', 'c'), 'from outside')
  }
  expect(await exec(sandbox, 'cat work/c; mv work moved; ls')).toBe('from outsidemoved\n')
  expect((await storage.snapshot(volume, snap(2))).mechanism).toBe('overlay copy of changes')
  expect(await read(where, snap(2), 'moved/c')).toBe('from outside')
  await expect(storage.restore(volume, snap(1), snap(3))).rejects.toEqual(code('workspace_active'))
  await sandbox.stop()
  expect((await storage.snapshot(volume, snap(4))).mechanism).toBe('overlay freeze')
  await storage.restore(volume, snap(1), snap(3))
  expect(await read(where, volume, 'work/a')).toBe('1\n')
})

it.each(['create', 'fork', 'move', 'trash', 'snapshot', 'restore', 'erase', 'look'])(
  '%s can be killed at every step',
  async (operation) => {
    const program = fileURLToPath(new URL('../../support/programs/overlay-step.ts', import.meta.url))
    let reached = 0
    for (let step = 1, done = false; !done; step++) {
      const base = mkdtempSync(join(tmpdir(), 'aw-crash-'))
      const steps = overlaySteps(base)
      await steps['prepare']?.()
      const { status, signal } = spawnSync(process.execPath, [program, base, operation], {
        env: { ...process.env, AW_CRASH_AT: String(step) },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      expect([0, 'SIGKILL']).toContain(signal ?? status)
      done = signal === null
      await expect(steps[`check ${operation}`]?.(), `step ${step}`).resolves.toBeUndefined()
      reached = step
    }
    expect(reached).toBeGreaterThan(2)
  },
)
