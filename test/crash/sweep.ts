import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { collect } from '../support/collect.ts'
import { readTree, type Tree } from '../support/tree.ts'
import { checkHome, checkReadModel } from './check.ts'
import { makeHome, type Background, type CrashHome, type Answer } from './home.ts'

type View = Outputs['show']

/** An operation that is stopped at every point, and how its workspace may look afterwards. */
export interface Swept {
  /** The operation that is called, if the sweep has another name. */
  readonly calls?: string
  /** Makes what the operation needs; answers the workspace. */
  prepare(crash: CrashHome, name: string): Promise<View | undefined>
  input(crash: CrashHome, name: string): object
  /** What may have become of it; `done` if the process had told that it succeeded. */
  check(crash: CrashHome, name: string, before: Before | undefined, done: boolean): Promise<void>
  /** A write that touches the workspace, and so recovers it. */
  touch(name: string, before: Before | undefined): [operation: string, input: object]
}

export interface Before {
  readonly view: View
  readonly tree: Tree
}

/** Without the generated view, which tells the present name and path. */
export const workOf = (path: string): Tree => readTree(path, { except: ['.aw'] })

export interface SweepOptions {
  /** How the first process's end is followed up at a point. */
  readonly recovery: (crash: CrashHome, point: number, touch: () => Promise<Answer>) => Promise<void>
  readonly from?: number
  readonly step?: number
}

/**
 * Every so many points, from one of the first five (every operation has as many) that is drawn anew each time. All of
 * them: `npm run prove`.
 */
export function sampled(step: number): { from: number; step: number } {
  const seed = Number(process.env['AW_SEED'] ?? Math.floor(Math.random() * 1000))
  const from = 1 + (seed % Math.min(step, 5))
  console.log(`AW_SEED=${seed}: from point ${from}, every ${step}th`)
  return { from, step }
}

interface Sample {
  readonly every: number
  /** How many points the operation has at the least: steps that are not counted would not be seen otherwise. */
  readonly least: number
}

/** A sample of the points of an operation, from the first that was drawn to its last. */
export async function expectSurvives(operation: string, swept: Swept, { every, least }: Sample): Promise<void> {
  const points = await sweep(operation, swept, { recovery: byRecoverOrTouch, ...sampled(every) })
  console.log(`${operation}: ${points} points`)
  // The last that was tried is one of the last.
  expect(points + every).toBeGreaterThan(least)
}

export const byRecover: SweepOptions['recovery'] = async (crash) => {
  expect((await crash.tell('recover', {})).error).toBeUndefined()
}

/** By `aw recover` and by a write on the workspace, turn and turn about. */
export const byRecoverOrTouch: SweepOptions['recovery'] = async (crash, point, touch) => {
  if (point % 2 === 0) return byRecover(crash, point, touch)
  const { error } = await touch()
  if (error !== undefined) expect(expected).toContain(error.code)
}

/** What a write may answer that comes after a crash: the crash may have been before or after the operation. */
const expected = ['workspace_not_found', 'workspace_exists', 'invalid_state']

/** Stops the operation at point 1, 2, 3 … until it is through. Answers how many points there are. */
export async function sweep(operation: string, swept: Swept, options: SweepOptions): Promise<number> {
  await using crash = await makeHome()
  const background = await crash.background('other')
  const { from = 1, step = 1 } = options
  for (let point = from; ; point += step) {
    const name = `${operation.replaceAll(' ', '-')}-${point}`
    const view = await swept.prepare(crash, name)
    const before = view === undefined ? undefined : { view, tree: await treeOf(crash, view) }
    const first = await crash.run(swept.calls ?? operation, swept.input(crash, name), point)
    if (first.crashed) await options.recovery(crash, point, () => crash.tell(...swept.touch(name, before)))
    try {
      await background.resting(async () => {
        await checkHome(crash.home, crash.manager)
        await swept.check(crash, name, before, first.result !== undefined)
      })
    } catch (error) {
      throw new Error(`${operation}, stopped at point ${point}`, { cause: error })
    }
    if (first.crashed) continue
    expect(first.error).toBeUndefined()
    await finish(crash, background)
    return point - step
  }
}

async function finish(crash: CrashHome, background: Background): Promise<void> {
  await background.resting(async () => {
    await checkReadModel(crash.manager)
    // Nothing that was acknowledged is lost: every workspace that the fourth process made is known, and gone as told.
    expect(background.made.length).toBeGreaterThan(0)
    const known = new Map((await crash.manager.call('list', { all: true })).map((one) => [one.id, one.state]))
    for (const id of background.made) expect(known.get(id)).toBe('purged')
  })
}

async function treeOf(crash: CrashHome, view: View): Promise<Tree> {
  const trashed = view.trash.at(-1)
  return workOf(view.state === 'trashed' && trashed ? join(crash.home, 'storage/trash', trashed.tree) : view.path)
}

// -- the operations --------------------------------------------------------------------------------------------------

const config = { claude_md: 'Be careful.', task_spec: { goal: 'survive' }, git_config: { enabled: true } }

export async function make(crash: CrashHome, id: string): Promise<View> {
  const view = await crash.manager.call('create', { id, from: { folder: crash.source }, config: { claude_md: 'x' } })
  writeFileSync(join(view.path, 'work', 'made by an agent'), id)
  return view
}

async function makeTrashed(crash: CrashHome, id: string): Promise<View> {
  await make(crash, id)
  await crash.manager.call('destroy', { id })
  const [view] = await crash.manager.call('list', { task: id, trashed: true })
  if (view === undefined) throw new Error(`${id} is not in the trash`)
  return view
}

/** It comes back from the trash byte for byte, and can be destroyed again. */
export async function expectUndeletable(crash: CrashHome, { view, tree }: Before): Promise<void> {
  const back = await crash.manager.call('undelete', { id: view.id })
  expect(workOf(back.path)).toEqual(tree)
  await crash.manager.call('destroy', { id: view.id, purge: true })
}

async function expectReady(crash: CrashHome, { view, tree }: Before): Promise<void> {
  const now = await crash.manager.call('show', { id: view.id })
  expect(now.state).toBe('ready')
  expect(workOf(now.path)).toEqual(tree)
  await crash.manager.call('destroy', { id: view.id })
  await expectUndeletable(crash, { view, tree })
}

export const need = (before: Before | undefined): Before => {
  if (before === undefined) throw new Error('Nothing was prepared')
  return before
}

const stateOf = async (crash: CrashHome, before: Before | undefined): Promise<string> =>
  (await crash.manager.call('show', { id: need(before).view.id })).state

export const byLabel: Swept['touch'] = (_name, before) => [
  'label',
  { id: need(before).view.id, labels: { touched: 'yes' } },
]

/** Whole in the one place or in the other; in the second if the operation was acknowledged. */
export const thereOrInTrash =
  (outcome: string): Swept['check'] =>
  async (crash, _name, before, done) => {
    const state = await stateOf(crash, before)
    if (done) expect(state).toBe(outcome)
    if (state === 'trashed') await expectUndeletable(crash, need(before))
    else await expectReady(crash, need(before))
  }

/** What it began as is known, and it still is that, but for the repository that aw made in it. */
export async function expectUnchanged({ manager }: CrashHome, id: string): Promise<void> {
  const changes = await collect(manager.stream('diff', { from: id }))
  expect(changes.filter(({ path }) => !path.startsWith('work/.git'))).toEqual([])
}

export const lifeOperations: Readonly<Record<string, Swept>> = {
  create: {
    prepare: async () => undefined,
    input: (crash, id) => ({ id, from: { folder: crash.source }, config }),
    touch: (id) => ['create', { id }],
    async check(crash, id, _before, done) {
      const [view] = await crash.manager.call('list', { task: id })
      if (done) expect(view?.state).toBe('ready')
      expect(view?.state ?? 'free').toMatch(/^(ready|free)$/)
      if (view?.source['kind'] === 'folder') {
        expect(workOf(view.path)).toMatchObject({
          'work/README': { content: 'from the source\n' },
          'work/.git/HEAD': {},
        })
        expect(workOf(view.path)['CLAUDE.md']).toBeDefined()
        await expectUnchanged(crash, view.id)
      }
      if (view === undefined) await crash.manager.call('create', { id })
      await crash.manager.call('destroy', { id, purge: true })
    },
  },
  destroy: {
    prepare: make,
    input: (_crash, id) => ({ id }),
    touch: byLabel,
    check: thereOrInTrash('trashed'),
  },
  undelete: {
    prepare: makeTrashed,
    input: (_crash, id) => ({ id, as: `${id}/again` }),
    touch: byLabel,
    check: thereOrInTrash('ready'),
  },
  reset: {
    prepare: make,
    input: (_crash, id) => ({ id }),
    touch: byLabel,
    async check(crash, name, before, done) {
      const { view, tree } = need(before)
      const now = await crash.manager.call('show', { id: view.id })
      expect(now.state).toBe('ready')
      if (done) expect(now.generation).toBe(2)
      if (now.generation === 1) return expectReady(crash, need(before))
      const fresh = { ...tree }
      delete (fresh as Record<string, unknown>)['work/made by an agent']
      expect(workOf(now.path)).toEqual(fresh)
      await expectUnchanged(crash, view.id)
      const old = await crash.manager.call('undelete', { id: `${view.id}.1`, as: `${name}/old` })
      expect(workOf(old.path)).toEqual(tree)
      await expectUnchanged(crash, old.id)
      for (const id of [view.id, old.id]) await crash.manager.call('destroy', { id, purge: true })
    },
  },
  rename: {
    prepare: make,
    input: (_crash, id) => ({ id, to: `${id}-renamed/x` }),
    touch: byLabel,
    async check(crash, name, before, done) {
      const now = await crash.manager.call('show', { id: need(before).view.id })
      expect([`${name}/main`, `${name}-renamed/x`]).toContain(now.workspace_id)
      if (done) expect(now.workspace_id).toBe(`${name}-renamed/x`)
      await expectReady(crash, need(before))
    },
  },
  purge: {
    prepare: makeTrashed,
    input: (_crash, id) => ({ id }),
    touch: (_name, before) => ['undelete', { id: need(before).view.id }],
    async check(crash, _name, before, done) {
      const state = await stateOf(crash, before)
      if (done) expect(state).toBe('purged')
      if (state === 'trashed') await expectUndeletable(crash, need(before))
      else if (state === 'ready') await expectReady(crash, need(before))
      else expect(state).toBe('purged')
    },
  },
  gc: {
    prepare: makeTrashed,
    input: () => ({ older_than: '0s' }),
    touch: (_name, before) => ['undelete', { id: need(before).view.id }],
    async check(crash, _name, before, done) {
      const state = await stateOf(crash, before)
      if (done) expect(state).toBe('purged')
      if (state === 'trashed') await expectUndeletable(crash, need(before))
      else if (state === 'ready') await expectReady(crash, need(before))
      else expect(state).toBe('purged')
    },
  },
}
