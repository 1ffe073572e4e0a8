import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Inputs, Outputs } from '../../src/api/table.ts'
import type { CrashHome } from './home.ts'
import { make, need, workOf, type Swept } from './sweep.ts'

type View = Outputs['show']

const writing = ['sh', '-c', 'echo done > made']
/** Of this run alone, so that what is left of it is found. */
const seconds = `2000.${process.pid}`

async function run({ manager }: CrashHome, input: Inputs['run']): Promise<Outputs['run'] | undefined> {
  let last: Outputs['run'] | undefined
  for await (const item of manager.stream('run', input)) last = item
  return last
}

const cmdlines = (): string[] =>
  globSync('/proc/[0-9]*/cmdline').flatMap((file) => {
    try {
      return [readFileSync(file, 'latin1')]
    } catch {
      return []
    }
  })

const sleeping = (): string[] => cmdlines().filter((line) => line === `sleep\0${seconds}\0`)

/** A run whose starter died goes on; what follows it is over before anybody looks. */
async function settled({ manager, home }: CrashHome, name: string): Promise<View | undefined> {
  if (!(await manager.call('exists', { id: name })).exists) return undefined
  const [last] = (await manager.call('runs', { id: name })).slice(-1)
  if (last !== undefined) await manager.call('wait', { id: name })
  while (cmdlines().some((line) => line.includes(`${home}\0`) && line.includes('\0recover\0'))) await sleep(20)
  return manager.call('show', { id: name })
}

/** It can be used, and nothing of it is left when it goes. */
async function end(crash: CrashHome, { id, path }: View): Promise<void> {
  expect(await run(crash, { id, argv: ['sh', '-c', 'echo here > usable'] })).toMatchObject({
    type: 'ended',
    run: { state: 'completed' },
  })
  expect(workOf(path)['work/usable']).toMatchObject({ content: 'here\n' })
  const runs = (await crash.manager.call('runs', { id })).map((one) => one.run)
  await crash.manager.call('destroy', { id, purge: true, include_active: true })
  for (const one of runs) expect(existsSync(join(crash.home, 'runs', one))).toBe(false)
  expect(sleeping()).toEqual([])
}

/** All of what it does or nothing, as the log tells; all of it, and its end, if that was acknowledged. */
const ranOrNot: Swept['check'] = async (crash, name, before, done) => {
  const view = await settled(crash, name)
  if (done) expect(view).toBeDefined()
  if (view === undefined) return
  const now = workOf(view.path)
  if (before !== undefined) {
    const { 'work/made': _, ...rest } = now
    expect(rest).toEqual(before.tree)
  }
  // A sandbox that was there stays; one that was made for the run is gone with it.
  expect(view.sandbox?.id).toBe(before?.view.sandbox?.id)
  const runs = await crash.manager.call('runs', { id: view.id })
  expect(runs.every(({ state }) => state === 'completed' || state === 'failed')).toBe(true)
  if (done) expect(runs).toMatchObject([{ state: 'completed', exit: { code: 0 } }])
  if (runs[0]?.state === 'completed') expect(now['work/made']).toMatchObject({ content: 'done\n' })
  // Nothing ran that the log does not tell of.
  if (now['work/made'] !== undefined) expect(runs).toHaveLength(1)
  if (runs[0]?.snapshot != null) {
    const kept = await crash.manager.call('snapshots', { id: view.id })
    expect(kept.map(({ id }) => id)).toContain(runs[0].snapshot)
  }
  await end(crash, view)
}

async function makeRunning(crash: CrashHome, id: string): Promise<View> {
  await make(crash, id)
  await run(crash, { id, argv: ['sleep', seconds], detach: true })
  return crash.manager.call('show', { id })
}

async function makeStarted(crash: CrashHome, id: string): Promise<View> {
  await make(crash, id)
  return crash.manager.call('start', { id })
}

const byExec: Swept['touch'] = (name) => ['exec', { id: name, argv: ['true'] }]

export const runOperations: Readonly<Record<string, Swept>> = {
  'run in a new workspace': {
    calls: 'run',
    prepare: async () => undefined,
    input: ({ source }, id) => ({ id, from: { folder: source }, prompt: 'Write it down', argv: writing }),
    touch: byExec,
    check: ranOrNot,
  },
  'run in a workspace': {
    calls: 'run',
    prepare: make,
    input: (_crash, id) => ({ id, argv: writing }),
    touch: byExec,
    check: ranOrNot,
  },
  'run in a started sandbox': {
    calls: 'run',
    prepare: makeStarted,
    input: (_crash, id) => ({ id, argv: writing, snapshot: 'off' }),
    touch: byExec,
    check: ranOrNot,
  },
  'cancel of a run': {
    calls: 'cancel',
    prepare: makeRunning,
    input: (_crash, id) => ({ id, grace_ms: 0 }),
    touch: byExec,
    async check(crash, _name, before, done) {
      const { view, tree } = need(before)
      const [was] = await crash.manager.call('runs', { id: view.id })
      if (done) expect(was).toMatchObject({ state: 'cancelled' })
      if (was?.state === 'running') expect(sleeping()).toHaveLength(1)
      // The wish was in the log: asking again ends it.
      if (was?.state === 'running') await crash.manager.call('cancel', { id: view.id, grace_ms: 0 })
      expect(await crash.manager.call('runs', { id: view.id })).toMatchObject([{ state: 'cancelled' }])
      expect(sleeping()).toEqual([])
      expect(workOf(view.path)).toEqual(tree)
      await end(crash, view)
    },
  },
}
