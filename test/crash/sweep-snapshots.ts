import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import type { Tree } from '../support/tree.ts'
import type { CrashHome } from './home.ts'
import { byLabel, make, need, workOf, type Before, type Swept } from './sweep.ts'

type View = Outputs['show']

/** What the snapshot `one` of a workspace holds, by the name of the workspace. */
const kept = new Map<string, Tree>()

const keptOf = (name: string): Tree => {
  const tree = kept.get(name)
  if (tree === undefined) throw new Error(`${name} has no snapshot`)
  return tree
}

/** A workspace with a snapshot, and work since then: changed, made, removed, moved, of another kind. */
async function makeKept(crash: CrashHome, id: string): Promise<View> {
  const view = await make(crash, id)
  const work = join(view.path, 'work')
  for (const name of ['changed', 'removed']) writeFileSync(join(work, name), 'before')
  mkdirSync(join(work, 'old/deep'), { recursive: true })
  writeFileSync(join(work, 'old/deep/file'), 'deep')
  await crash.manager.call('snapshot', { id, label: 'one' })
  kept.set(id, workOf(view.path))
  writeFileSync(join(work, 'changed'), 'after')
  rmSync(join(work, 'removed'))
  rmSync(join(work, 'old'), { recursive: true })
  writeFileSync(join(work, 'old'), 'a file now')
  mkdirSync(join(work, 'new'))
  writeFileSync(join(work, 'new/file'), Buffer.alloc(50_000, 'new'))
  return crash.manager.call('show', { id })
}

/** Kept twice, and nothing since. */
async function makeClean(crash: CrashHome, id: string): Promise<View> {
  await makeKept(crash, id)
  await crash.manager.call('snapshot', { id, label: 'two' })
  return crash.manager.call('show', { id })
}

const snapshotsOf = (crash: CrashHome, { view }: Before): Promise<Outputs['snapshots']> =>
  crash.manager.call('snapshots', { id: view.id })

/** It can be had again, byte for byte; and every snapshot is what it was. */
async function expectHad(crash: CrashHome, { view }: Before, snapshot: string, tree: Tree): Promise<void> {
  await crash.manager.call('restore', { id: view.id, snapshot })
  expect(workOf(view.path)).toEqual(tree)
}

async function end(crash: CrashHome, ...ids: string[]): Promise<void> {
  const { snapshots } = await crash.manager.call('verify', {})
  expect(snapshots.filter(({ problems }) => problems.length > 0)).toEqual([])
  for (const id of ids) await crash.manager.call('destroy', { id, purge: true })
}

/** The tree is as before or as it was to become; if that, what was there is in a snapshot. */
const restoredOrNot =
  (goal: (name: string, before: Tree) => Tree): Swept['check'] =>
  async (crash, name, before, done) => {
    const { view, tree } = need(before)
    const wanted = goal(name, tree)
    const now = workOf(view.path)
    if (done) expect(now).toEqual(wanted)
    expect([tree, wanted]).toContainEqual(now)
    const snapshots = await snapshotsOf(crash, need(before))
    const isRestored = JSON.stringify(now) !== JSON.stringify(tree)
    const holders = snapshots.filter(({ reason, label }) => reason === 'safety' || label === 'two')
    if (isRestored) await expectHad(crash, need(before), holders[0]?.id ?? 'none', tree)
    await expectHad(crash, need(before), 'one', keptOf(name))
    await end(crash, view.id)
  }

const paths = ['work/changed', 'work/old', 'work/new', 'work/removed']

/** These paths as in the one tree, all others as in the other. */
function mixed(name: string, before: Tree): Tree {
  const isChosen = ([path]: [string, unknown]): boolean => paths.some((one) => `${path}/`.startsWith(`${one}/`))
  const entries = [
    ...Object.entries(before).filter((entry) => !isChosen(entry)),
    ...Object.entries(keptOf(name)).filter(isChosen),
  ]
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export const snapshotOperations: Readonly<Record<string, Swept>> = {
  snapshot: {
    prepare: makeKept,
    input: (_crash, id) => ({ id, label: 'two' }),
    touch: byLabel,
    async check(crash, name, before, done) {
      const { view, tree } = need(before)
      expect(workOf(view.path)).toEqual(tree)
      const labels = (await snapshotsOf(crash, need(before))).map(({ label }) => label)
      expect([['one'], ['one', 'two']]).toContainEqual(labels)
      if (done) expect(labels).toEqual(['one', 'two'])
      await expectHad(crash, need(before), 'one', keptOf(name))
      if (labels.includes('two')) await expectHad(crash, need(before), 'two', tree)
      await end(crash, view.id)
    },
  },
  'snapshot remove': {
    prepare: makeClean,
    input: (_crash, id) => ({ id, snapshots: ['one'] }),
    touch: byLabel,
    async check(crash, name, before, done) {
      const { view, tree } = need(before)
      expect(workOf(view.path)).toEqual(tree)
      const snapshots = await snapshotsOf(crash, need(before))
      const isThere = snapshots.some(({ label }) => label === 'one')
      if (done) expect(isThere).toBe(false)
      if (isThere) await expectHad(crash, need(before), 'one', keptOf(name))
      await expectHad(crash, need(before), 'two', tree)
      await end(crash, view.id)
    },
  },
  restore: {
    prepare: makeKept,
    input: (_crash, id) => ({ id, snapshot: 'one' }),
    touch: byLabel,
    check: restoredOrNot(keptOf),
  },
  'restore of paths': {
    calls: 'restore',
    prepare: makeKept,
    input: (_crash, id) => ({ id, snapshot: 'one', paths }),
    touch: byLabel,
    check: restoredOrNot(mixed),
  },
  'undo of a snapshot': {
    calls: 'undo',
    prepare: makeClean,
    input: (_crash, id) => ({ id }),
    touch: byLabel,
    check: restoredOrNot(keptOf),
  },
  fork: {
    prepare: makeKept,
    input: (_crash, id) => ({ id, to: [`${id}-fork`] }),
    touch: (id) => ['fork', { id, to: [`${id}-fork`] }],
    async check(crash, name, before, done) {
      const { view, tree } = need(before)
      expect(workOf(view.path)).toEqual(tree)
      const [fork] = await crash.manager.call('list', { task: `${name}-fork` })
      if (done) expect(fork?.state).toBe('ready')
      if (fork !== undefined) expect(workOf(fork.path)).toEqual(tree)
      await expectHad(crash, need(before), 'one', keptOf(name))
      await end(crash, ...(fork === undefined ? [] : [fork.id]), view.id)
    },
  },
  'purge of snapshots': {
    calls: 'purge',
    async prepare(crash, id) {
      const { id: view } = await makeClean(crash, id)
      await crash.manager.call('destroy', { id })
      return crash.manager.call('show', { id: view })
    },
    input: (_crash, id) => ({ id }),
    touch: (_name, before) => ['undelete', { id: need(before).view.id }],
    async check(crash, name, before, done) {
      const { view, tree } = need(before)
      const { state } = await crash.manager.call('show', { id: view.id })
      if (done) expect(state).toBe('purged')
      if (state === 'purged') return expect(await snapshotsOf(crash, need(before))).toEqual([])
      if (state === 'trashed') await crash.manager.call('undelete', { id: view.id })
      expect(workOf(view.path)).toEqual(tree)
      await expectHad(crash, need(before), 'one', keptOf(name))
      await end(crash, view.id)
    },
  },
}
