/** The daemon is killed, at any instant and at each of its changes; the next one finds everything and finishes it. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { toAwError } from '../../src/domain/errors.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { checkHome, checkReadModel } from '../crash/check.ts'
import { sampled } from '../crash/sweep.ts'
import { takesAll } from '../support/random-selection.ts'
import { killableHome, until, type KillableDaemon, type KillableHome } from './killable.ts'
import { asked, checkOrder, checkTold, eventsOf, nothingTold, summary, type Told } from './client-record.ts'

const rounds = takesAll ? 50 : 3
const clients = 8

test(`${rounds} times killed under load of ${clients} clients, it loses nothing that was told`, async () => {
  const seed = Number(process.env['AW_SEED'] ?? Math.floor(Math.random() * 1000))
  console.log(`AW_SEED=${seed}`)
  await using home = killableHome()
  const told = nothingTold()
  // Whoever asked for the end of these may not have been told of it.
  const doomed = new Set<string>()
  for (let round = 0; round < rounds; round++) {
    const daemon = await home.serve()
    const manager = home.client()
    const run = `runs-${round}/r`
    for await (const _ of manager.stream('run', { id: run, argv: ['sh', '-c', counting], detach: true }));
    const before = told.created.size
    const working = Promise.all(
      Array.from({ length: clients }, (_, i) => work(home.client(), told, doomed, `k${round}-${i}`, daemon)),
    )
    await until('something was told', () => told.created.size > before + clients)
    await sleep((seed * 37 + round * 101) % 400)
    await daemon.kill()
    await working
    expect(existsSync(join(home.home, 'aw.sock'))).toBe(true)

    const next = await home.serve()
    const again = home.client()
    await expectWholeRun(again, run)
    await checkHome(home.home, again)
    await checkKept(again, told, doomed)
    const events = await eventsOf(again)
    checkOrder(events)
    checkTold(told, events)
    // Whoever has seen to the end of a run says so, and then ends.
    await expect.poll(() => processesOf(home.home).filter((pid) => pid !== next.pid)).toEqual([])
    await next.kill()
  }
  console.log(summary(told))
  await home.serve()
  await checkReadModel(home.client())
  expect(JSON.parse(home.at.aw('--json', 'audit', 'verify').stdout)).toMatchObject({ intact: true })
})

/** Until the daemon is gone. What is under way then may have been done or not. */
async function work(manager: Manager, told: Told, doomed: Set<string>, name: string, daemon: KillableDaemon) {
  const gone = ['daemon_unavailable']
  for (let round = 0; !daemon.isGone(); round++) {
    const made = await asked(manager, told, 'create', { id: `${name}/w${round}` }, gone)
    if (made === undefined) return
    const { id } = made
    told.created.add(id)
    for (const path of ['work/one', 'work/two']) {
      const content = `${path} of ${id}`
      if (await asked(manager, told, 'fs write', { id, path, content: Buffer.from(content) }, gone))
        told.written.set(`${id}:${path}`, content)
    }
    const snapshot = await asked(manager, told, 'snapshot', { id }, gone)
    if (snapshot !== undefined) told.snapshots.add(snapshot.id)
    if (round % 2 === 0) continue
    doomed.add(id)
    if (await asked(manager, told, 'destroy', { id }, gone)) told.destroyed.add(id)
  }
}

async function checkKept(manager: Manager, told: Told, doomed: ReadonlySet<string>): Promise<void> {
  const all = new Map((await manager.call('list', { all: true })).map((one) => [one.id, one]))
  for (const id of told.destroyed) expect(all.get(id)?.state).toBe('trashed')
  const kept = [...told.created].filter((id) => !told.destroyed.has(id) && !doomed.has(id))
  for (const id of kept) expect(all.get(id)?.state).toBe('ready')
  for (const [file, content] of told.written) {
    const [id = '', path = ''] = file.split(':')
    const place = all.get(id)
    if (place?.state === 'ready') expect(readFileSync(join(place.path, path), 'utf8')).toBe(content)
  }
}

const counting = 'for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; echo done > made'

/** It went on while there was no daemon. */
async function expectWholeRun(manager: Manager, id: string): Promise<void> {
  await manager.call('wait', { id })
  expect(await manager.call('runs', { id })).toMatchObject([{ state: 'completed', exit: { code: 0 } }])
  let output = ''
  for await (const item of manager.stream('logs', { id })) output += logText(item)
  expect(output).toBe('1\n2\n3\n4\n5\n')
  expect(readFileSync(join((await manager.call('show', { id })).path, 'work/made'), 'utf8')).toBe('done\n')
}

const logText = (item: object): string => {
  const { data = '' } = item as { data?: string | Uint8Array }
  return Buffer.from(data as Uint8Array).toString('utf8')
}

/** Whoever was started for this home, by its environment. */
const processesOf = (home: string): number[] =>
  globSync('/proc/[0-9]*/environ').flatMap((file) => {
    try {
      return readFileSync(file, 'latin1').includes(`AW_HOME=${home}\0`) ? [Number(file.split('/')[2])] : []
    } catch {
      return []
    }
  })

interface Swept {
  /** Which of its points are tried where not all are. */
  readonly every: number
  readonly prepare: (home: KillableHome, name: string) => Promise<unknown>
  readonly ask: (home: KillableHome, name: string) => Promise<unknown>
  /** What may have become of it; `done` if it was acknowledged. */
  readonly check: (home: KillableHome, name: string, done: boolean) => Promise<void>
}

const swept: Readonly<Record<string, Swept>> = {
  create: {
    every: 16,
    prepare: async () => undefined,
    ask: (home, id) => home.client().call('create', { id, from: { folder: home.source } }),
    async check(home, id, done) {
      const manager = home.client()
      const { exists } = await manager.call('exists', { id })
      if (done) expect(exists).toBe(true)
      if (!exists) await manager.call('create', { id, from: { folder: home.source } })
      const { path, state } = await manager.call('show', { id })
      expect(state).toBe('ready')
      expect(readFileSync(join(path, 'work/README'), 'utf8')).toBe('from the source\n')
    },
  },
  snapshot: {
    every: 5,
    prepare: (home, id) => home.client().call('create', { id, from: { folder: home.source } }),
    ask: (home, id) => home.client().call('snapshot', { id, label: 'kept' }),
    async check(home, id, done) {
      const manager = home.client()
      const before = await manager.call('snapshots', { id })
      if (done) expect(before).toHaveLength(1)
      if (before.length === 0) await manager.call('snapshot', { id, label: 'kept' })
      expect(await manager.call('snapshots', { id })).toMatchObject([{ label: 'kept' }])
      expect((await manager.call('show', { id })).state).toBe('ready')
    },
  },
  fork: {
    every: 30,
    prepare: (home, id) => home.client().call('create', { id, from: { folder: home.source } }),
    ask: (home, id) => home.client().call('fork', { id, to: [`${id}-fork`] }),
    async check(home, id, done) {
      const manager = home.client()
      const fork = `${id}-fork`
      const { exists } = await manager.call('exists', { id: fork })
      if (done) expect(exists).toBe(true)
      if (!exists) await manager.call('fork', { id, to: [fork] })
      for (const one of [id, fork]) expect(await readme(manager, one)).toBe('from the source\n')
    },
  },
  restore: {
    every: 15,
    async prepare(home, id) {
      const manager = home.client()
      await manager.call('create', { id, from: { folder: home.source } })
      await manager.call('snapshot', { id, label: 'good' })
      await manager.call('fs write', { id, path: 'work/README', content: 'changed' })
    },
    ask: (home, id) => home.client().call('restore', { id, snapshot: 'good' }),
    async check(home, id, done) {
      const manager = home.client()
      const now = await readme(manager, id)
      expect(now).toBeOneOf(done ? ['from the source\n'] : ['from the source\n', 'changed'])
      await manager.call('restore', { id, snapshot: 'good' })
      expect(await readme(manager, id)).toBe('from the source\n')
    },
  },
  destroy: {
    every: 6,
    prepare: (home, id) => home.client().call('create', { id, from: { folder: home.source } }),
    ask: (home, id) => home.client().call('destroy', { id }),
    async check(home, id, done) {
      const manager = home.client()
      const { exists } = await manager.call('exists', { id })
      if (done) expect(exists).toBe(false)
      if (exists) await manager.call('destroy', { id })
      await manager.call('undelete', { id })
      expect(await readme(manager, id)).toBe('from the source\n')
    },
  },
  run: {
    every: 40,
    prepare: (home, id) => home.client().call('create', { id }),
    async ask(home, id) {
      const argv = ['sh', '-c', 'echo done > made']
      for await (const _ of home.client().stream('run', { id, argv, detach: true }));
    },
    async check(home, id, done) {
      const manager = home.client()
      const [run] = await manager.call('runs', { id })
      if (done) expect(run).toBeDefined()
      if (run === undefined) return
      // It went on without the daemon, or it is said why not.
      const { state } = await manager.call('wait', { id })
      expect(state).toBeOneOf(done ? ['completed'] : ['completed', 'failed', 'cancelled'])
      if (state === 'completed') expect(String(await manager.call('fs read', { id, path: 'work/made' }))).toBe('done\n')
    },
  },
}

const readme = async (manager: Manager, id: string): Promise<string> =>
  String(await manager.call('fs read', { id, path: 'work/README' }))

test.each(Object.entries(swept))('%s through the daemon: it can be killed at any point', async (operation, one) => {
  const { from, step } = takesAll ? { from: 1, step: 1 } : sampled(one.every)
  const points = await sweep(operation, one, { from, step, serving: true })
  console.log(`${operation}: ${points} points`)
  expect(points).toBeGreaterThan(takesAll ? 5 : 0)
})

test('a daemon can be killed at any point of its start', async () => {
  const { from, step } = takesAll ? { from: 1, step: 1 } : sampled(120)
  const points = await sweep('create', swept['create'] as Swept, { from, step, serving: false })
  console.log(`start and create: ${points} points`)
  expect(points).toBeGreaterThan(takesAll ? 100 : 1)
})

/** Answers the last point at which it died. */
async function sweep(
  operation: string,
  { prepare, ask, check }: Swept,
  { from, step, serving }: { readonly from: number; readonly step: number; readonly serving: boolean },
): Promise<number> {
  await using home = killableHome()
  let clean = await home.serve()
  for (let point = from; ; point += step) {
    const name = `${operation}-${point}/w`
    await prepare(home, name)
    await clean.kill()
    const doomed = await home.start(`${serving ? '+' : ''}${point}`)
    const done = doomed !== undefined && (await isDone(ask(home, name)))
    await home.killAll()
    clean = await home.serve()
    try {
      await check(home, name, done)
      await checkHome(home.home, home.client())
    } catch (error) {
      throw new Error(`${operation}, stopped at point ${point}`, { cause: error })
    }
    if (done) return point - step
  }
}

/** Acknowledged, or not because the daemon died. */
async function isDone(answer: Promise<unknown>): Promise<boolean> {
  try {
    await answer
    return true
  } catch (error) {
    expect(toAwError(error).code).toBe('daemon_unavailable')
    return false
  }
}
