import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Inputs, Outputs } from '../../src/api/table.ts'
import type { Tree } from '../support/tree.ts'
import type { CrashHome } from './home.ts'
import { expectUndeletable, make, need, workOf, type Swept } from './sweep.ts'

type View = Outputs['show']

const writing = ['sh', '-c', 'echo done > made']
/** Of this run alone, so that what is left of it is found. */
const seconds = `1000.${process.pid}`

async function exec({ manager }: CrashHome, input: Inputs['exec']): Promise<Outputs['exec']> {
  let last: Outputs['exec'] | undefined
  for await (const item of manager.stream('exec', input)) last = item
  if (last?.type !== 'exit') throw new Error('The command told no end')
  return last
}

/** With a sandbox, in which something goes on that no command waits for. */
async function makeStarted(crash: CrashHome, id: string): Promise<View> {
  await make(crash, id)
  return started(crash, id)
}

async function started(crash: CrashHome, id: string): Promise<View> {
  await crash.manager.call('start', { id })
  await exec(crash, { id, argv: ['sh', '-c', `setsid sleep ${seconds} >/dev/null 2>&1 &`] })
  return crash.manager.call('show', { id })
}

/** Changed since its snapshot `one`. */
async function makeChanged(crash: CrashHome, id: string): Promise<View> {
  const { path } = await make(crash, id)
  await crash.manager.call('snapshot', { id, label: 'one' })
  writeFileSync(join(path, 'work/since'), 'since')
  return started(crash, id)
}

/** What a command did in its sandbox can be taken back. */
async function makeUndoable(crash: CrashHome, id: string): Promise<View> {
  await makeStarted(crash, id)
  await exec(crash, { id, argv: writing, snapshot: 'each-exec' })
  return crash.manager.call('show', { id })
}

const running = (): string[] =>
  globSync('/proc/[0-9]*/cmdline').filter((file) => {
    try {
      return readFileSync(file, 'latin1') === `sleep\0${seconds}\0`
    } catch {
      return false
    }
  })

/** A command runs, in the sandbox that is there or in one of its own; then nothing is left. */
async function end(crash: CrashHome, { id, path }: View): Promise<void> {
  const { sandbox } = await crash.manager.call('show', { id })
  if (sandbox === null) expect(running()).toEqual([])
  const tree = workOf(path)
  expect(await exec(crash, { id, argv: ['sh', '-c', 'echo here > usable'] })).toMatchObject({ code: 0 })
  expect((await crash.manager.call('show', { id })).sandbox).toEqual(sandbox)
  const { 'work/usable': made, ...rest } = workOf(path)
  expect(made).toMatchObject({ content: 'here\n' })
  expect(rest).toEqual(tree)
  await crash.manager.call('destroy', { id, purge: true, include_active: true })
  expect(running()).toEqual([])
}

const without = (tree: Tree, ...paths: string[]): Tree =>
  Object.fromEntries(Object.entries(tree).filter(([path]) => !paths.includes(path)))

/** A write that looks at what runs there. */
const byExec: Swept['touch'] = (_name, before) => ['exec', { id: need(before).view.id, argv: ['true'] }]

/** All of what the command does or nothing; all of it, and its end in the log, if it was acknowledged. */
const ranOrNot: Swept['check'] = async (crash, _name, before, done) => {
  const { view, tree } = need(before)
  const now = workOf(view.path)
  expect(without(now, 'work/made')).toEqual(tree)
  const commands = await crash.manager.call('history', { id: view.id })
  const ran = commands.filter(({ argv }) => argv.join() === writing.join())
  if (done) expect(ran.map(({ exit }) => exit?.code)).toEqual([0])
  if (done) expect(now['work/made']).toMatchObject({ content: 'done\n' })
  // Nothing ran that the log does not tell of.
  if (now['work/made'] !== undefined) expect(ran).toHaveLength(1)
  await end(crash, view)
}

/** As it was or as it was to become; what was there is in a snapshot. */
const takenBackOrNot =
  (...paths: string[]): Swept['check'] =>
  async (crash, _name, before, done) => {
    const { view, tree } = need(before)
    const wanted = without(tree, ...paths)
    const now = workOf(view.path)
    if (done) expect(now).toEqual(wanted)
    expect([tree, wanted]).toContainEqual(now)
    const { sandbox } = await crash.manager.call('show', { id: view.id })
    if (done) expect(sandbox).not.toBeNull()
    if (sandbox !== null) {
      // The sandbox shows the tree that is there now, and not the one before.
      const there = await exec(crash, { id: view.id, argv: ['test', '-e', `../${paths[0]}`] })
      expect(there.code).toBe(now[paths[0] ?? ''] === undefined ? 1 : 0)
    }
    await end(crash, view)
  }

export const sandboxOperations: Readonly<Record<string, Swept>> = {
  start: {
    prepare: make,
    input: (_crash, id) => ({ id }),
    touch: byExec,
    async check(crash, _name, before, done) {
      const { view, tree } = need(before)
      const { sandbox } = await crash.manager.call('show', { id: view.id })
      if (done) expect(sandbox).not.toBeNull()
      expect(workOf(view.path)).toEqual(tree)
      if (sandbox === null) await crash.manager.call('start', { id: view.id })
      await end(crash, view)
    },
  },
  stop: {
    prepare: makeStarted,
    input: (_crash, id) => ({ id, grace_ms: 0 }),
    touch: byExec,
    async check(crash, _name, before, done) {
      const { view, tree } = need(before)
      const { sandbox } = await crash.manager.call('show', { id: view.id })
      if (done) expect(sandbox).toBeNull()
      expect(workOf(view.path)).toEqual(tree)
      await end(crash, view)
    },
  },
  'exec in a sandbox of its own': {
    calls: 'exec',
    prepare: make,
    input: (_crash, id) => ({ id, argv: writing }),
    touch: byExec,
    check: ranOrNot,
  },
  'exec in a started sandbox': {
    calls: 'exec',
    prepare: makeStarted,
    input: (_crash, id) => ({ id, argv: writing }),
    touch: byExec,
    check: ranOrNot,
  },
  'exec that is kept': {
    calls: 'exec',
    prepare: makeStarted,
    input: (_crash, id) => ({ id, argv: writing, snapshot: 'each-exec' }),
    touch: byExec,
    check: ranOrNot,
  },
  'restore with a sandbox': {
    calls: 'restore',
    prepare: makeChanged,
    input: (_crash, id) => ({ id, snapshot: 'one', restart: true }),
    touch: byExec,
    check: takenBackOrNot('work/since'),
  },
  'undo of a command': {
    calls: 'undo',
    prepare: makeUndoable,
    input: (_crash, id) => ({ id, restart: true }),
    touch: byExec,
    check: takenBackOrNot('work/made'),
  },
  'destroy with a sandbox': {
    calls: 'destroy',
    prepare: makeStarted,
    input: (_crash, id) => ({ id, include_active: true }),
    touch: byExec,
    async check(crash, _name, before, done) {
      const { view } = need(before)
      const { state } = await crash.manager.call('show', { id: view.id })
      if (done) expect(state).toBe('trashed')
      if (state !== 'trashed') return end(crash, view)
      expect(running()).toEqual([])
      await expectUndeletable(crash, need(before))
    },
  },
}
