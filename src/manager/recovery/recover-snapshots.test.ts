import { expect, it } from 'vitest'
import type { Manager } from '../../ports/manager.ts'
import { memoryCore, type MemoryCore } from '../../../test/memory/core.ts'
import { readMemoryTree } from '../../../test/memory/tree.ts'
import type { Tree } from '../../../test/support/tree.ts'

/** What a process leaves that is killed after each of its steps, and what another one makes of it. */

interface Case {
  /** On top of a workspace with two snapshots and unsaved work. */
  readonly prepare?: (manager: Manager) => Promise<unknown>
  readonly act: (manager: Manager) => Promise<unknown>
  /** The work in `a` afterwards. */
  readonly work: string
  /** How many snapshots are gone, if it was asked to remove some. */
  readonly removed?: number
}

const id = 'a'
const write = (manager: Manager, content: string, path = 'work/f'): Promise<unknown> =>
  manager.call('fs write', { id, path, content })

const cases: Record<string, Case> = {
  snapshot: { act: (manager) => manager.call('snapshot', { id }), work: 'unsaved' },
  'snapshot that needs room': {
    prepare: async (manager) => {
      for (let i = 0; i < 18; i++) await manager.call('snapshot', { id, auto: true })
    },
    act: (manager) => manager.call('snapshot', { id }),
    work: 'unsaved',
    removed: 1,
  },
  restore: { act: (manager) => manager.call('restore', { id, snapshot: 'one' }), work: 'one' },
  'restore of a path': {
    act: (manager) => manager.call('restore', { id, snapshot: 'one', paths: ['work/f', 'work/new'] }),
    work: 'one',
  },
  undo: { act: (manager) => manager.call('undo', { id }), work: 'two' },
  'undo of a snapshot': {
    prepare: (manager) => manager.call('snapshot', { id }),
    act: (manager) => manager.call('undo', { id }),
    work: 'two',
  },
  redo: {
    prepare: (manager) => manager.call('undo', { id }),
    act: (manager) => manager.call('redo', { id }),
    work: 'unsaved',
  },
  'remove snapshots': {
    act: (manager) => manager.call('snapshot remove', { id, snapshots: ['one', 'two'] }),
    work: 'unsaved',
    removed: 2,
  },
  fork: { act: (manager) => manager.call('fork', { id, to: ['b', 'c'] }), work: 'unsaved' },
  'fork of a snapshot': { act: (manager) => manager.call('fork', { id, to: ['b'], at: 'one' }), work: 'unsaved' },
  reset: { act: (manager) => manager.call('reset', { id }), work: 'missing' },
}

async function prepared({ prepare }: Case): Promise<MemoryCore> {
  const core = memoryCore()
  const { manager } = core
  await manager.call('create', { id })
  for (const content of ['one', 'two']) {
    await write(manager, content)
    await manager.call('snapshot', { id, label: content })
  }
  await write(manager, 'unsaved')
  await write(manager, 'new', 'work/new')
  await prepare?.(manager)
  return core
}

const workOf = (manager: Manager): Promise<string> =>
  manager.call('fs read', { id, path: 'work/f' }).then(
    (content) => Buffer.from(content as Uint8Array).toString(),
    () => 'missing',
  )

function snapshotsOnDisk({ disk }: MemoryCore): Map<string, Tree> {
  const names = [...(disk.directory('/storage/snapshots')?.entries.keys() ?? [])]
  return new Map(names.map((name) => [name, readMemoryTree(disk, `/storage/snapshots/${name}`)]))
}

/** Log == disk, and there is nothing left to do. */
async function checkWhole(core: MemoryCore, manager: Manager): Promise<void> {
  const workspaces = await manager.call('list', { all: true })
  expect(workspaces.filter(({ operation }) => operation !== null)).toEqual([])
  const known: string[] = []
  for (const workspace of workspaces)
    for (const one of await manager.call('snapshots', { id: workspace.id })) known.push(one.id)
  expect([...snapshotsOnDisk(core).keys()].toSorted()).toEqual(known.toSorted())
  const empty = { relinked: [], lost: [], orphans: [], leftovers: [] }
  const nothing = { recovered: [], busy: [], failed: [], found: [], ...empty }
  expect(await manager.call('recover', {})).toEqual(nothing)
  for (const { state, path } of workspaces) {
    if (state !== 'ready') continue
    expect(Object.keys(readMemoryTree(core.disk, path))).toContain('.aw/workspace_config.json')
    expect(Object.keys(readMemoryTree(core.disk, path))).not.toContain('.aw/restoring')
  }
}

type Recover = (core: MemoryCore, point: number) => Promise<void>

async function stopEverywhere(name: string, one: Case, recover: Recover): Promise<number> {
  for (let point = 0; ; point++) {
    const core = await prepared(one)
    const before = snapshotsOnDisk(core)
    const work = await workOf(core.manager)
    const mortal = core.start(point)
    const done = await one.act(mortal.manager).then(
      () => true,
      () => false,
    )
    mortal.end()
    await recover(core, point)
    try {
      await checkOutcome(core, one, { work, snapshots: before }, done)
    } catch (error) {
      throw new Error(`${name}, killed after ${point} steps`, { cause: error })
    }
    if (done && mortal.left() > 0) return point
  }
}

async function checkOutcome(core: MemoryCore, one: Case, before: Before, done: boolean): Promise<void> {
  const { manager } = core.start()
  await checkWhole(core, manager)
  const work = await workOf(manager)
  expect(done ? [one.work] : [before.work, one.work]).toContain(work)
  const now = snapshotsOnDisk(core)
  const gone = [...before.snapshots.keys()].filter((snapshot) => !now.has(snapshot))
  const removed = one.removed ?? 0
  expect(done ? [removed] : [0, removed]).toContain(gone.length)
  for (const [snapshot, tree] of before.snapshots) if (now.has(snapshot)) expect(now.get(snapshot)).toEqual(tree)
  // What was replaced is kept; by a reset, in the trash.
  if (work !== before.work && one.work !== 'missing') expect(contents(now)).toContain(before.work)
}

interface Before {
  readonly work: string
  readonly snapshots: ReadonlyMap<string, Tree>
}

const contents = (snapshots: ReadonlyMap<string, Tree>): string[] =>
  [...snapshots.values()].flatMap((tree) => {
    const file = tree['work/f']
    return file?.kind === 'file' ? [file.content] : []
  })

const byRecover: Recover = async (core) => {
  const { manager } = core.start()
  await manager.call('recover', {})
}

/** A write that touches the workspace recovers it; what it touches not, `recover` does. */
const byTouch: Recover = async (core, point) => {
  const { manager } = core.start()
  await manager.call('label', { id, labels: { touched: 'yes' } })
  await byRecover(core, point)
}

const byDyingRecoverers: Recover = async (core, point) => {
  for (let steps = 0; ; steps++) {
    const mortal = core.start(steps)
    await mortal.manager.call('recover', {}).catch(() => undefined)
    mortal.end()
    if (mortal.left() > 0) break
  }
  await byRecover(core, point)
}

it.each(Object.entries(cases))('%s can be killed after every step, and is recovered', async (name, one) => {
  for (const recover of [byRecover, byTouch, byDyingRecoverers])
    expect(await stopEverywhere(name, one, recover)).toBeGreaterThan(2)
})
