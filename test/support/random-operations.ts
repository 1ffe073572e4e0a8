import fc from 'fast-check'
import { expect } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { toAwError } from '../../src/domain/errors.ts'
import { isLive } from '../../src/domain/workspace/state.ts'
import type { Manager } from '../../src/ports/manager.ts'
import type { Tree } from './tree.ts'

/** Random lives of workspaces, lived in two cores at once: both must tell the same at every step and hold the same trees. */

/** A core, and what the comparison needs to see of it. */
export interface Twin {
  readonly manager: Manager
  /** A folder with the same content in both. */
  readonly source: string
  /** The work below a path, without the generated view. */
  readonly read: (path: string) => Tree
}

/** Workspaces are told by the order in which they were made: their ids differ. */
type Ref = { readonly name: string } | { readonly nth: number }

/** A label, `head`, `base`, or the number of a snapshot of its workspace. */
type SnapshotRef = string | number

type Step =
  | { readonly do: 'create'; readonly name: string; readonly copy: boolean }
  | { readonly do: 'ensure'; readonly name: string }
  | { readonly do: 'destroy' | 'reset' | 'purge'; readonly ref: Ref }
  | { readonly do: 'undelete'; readonly ref: Ref; readonly as: string | undefined }
  | { readonly do: 'undelete tree'; readonly nth: number; readonly generation: number; readonly as: string }
  | { readonly do: 'rename'; readonly ref: Ref; readonly to: string }
  | { readonly do: 'label'; readonly ref: Ref; readonly key: string }
  | { readonly do: 'gc' }
  | { readonly do: 'write' | 'append'; readonly ref: Ref; readonly path: string; readonly content: string }
  | { readonly do: 'mkdir' | 'remove'; readonly ref: Ref; readonly path: string }
  | { readonly do: 'move' | 'copy'; readonly ref: Ref; readonly path: string; readonly to: string }
  | { readonly do: 'snapshot'; readonly ref: Ref; readonly label: string | undefined; readonly auto: boolean }
  | { readonly do: 'restore'; readonly ref: Ref; readonly at: SnapshotRef; readonly path: string | undefined }
  | { readonly do: 'undo' | 'redo'; readonly ref: Ref }
  | { readonly do: 'fork'; readonly ref: Ref; readonly to: string; readonly at: SnapshotRef | undefined }
  | { readonly do: 'remove snapshot'; readonly ref: Ref; readonly at: SnapshotRef }
  | { readonly do: 'branch'; readonly ref: Ref; readonly branch: string; readonly at: SnapshotRef }
  | { readonly do: 'restore branch'; readonly ref: Ref; readonly branch: string }

const name = fc.constantFrom('a', 'b', 'c/x')
const ref: fc.Arbitrary<Ref> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ name }) },
  { weight: 1, arbitrary: fc.record({ nth: fc.nat(5) }) },
)
const path = fc.constantFrom(
  'work/f',
  'work/g',
  'work/d',
  'work/d/f',
  'work/d/e/f',
  'output/f',
  'work/README',
  '.aw/x',
  '../x',
)
const content = fc.string({ maxLength: 20 })

const label = fc.constantFrom('good', 'better')
const at: fc.Arbitrary<SnapshotRef> = fc.oneof(label, fc.constantFrom('head', 'base'), fc.nat(5))
const branch = fc.constantFrom('main', 'side')
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined })

const snapshotStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('snapshot' as const), ref, label: maybe(label), auto: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('restore' as const), ref, at, path: maybe(path) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('undo' as const, 'redo' as const), ref }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fork' as const), ref, to: name, at: maybe(at) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove snapshot' as const), ref, at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('branch' as const), ref, branch, at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restore branch' as const), ref, branch }) },
)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 16, arbitrary: snapshotStep },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), name, copy: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ensure' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('destroy' as const, 'reset' as const), ref }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('purge' as const), ref }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('undelete' as const), ref, as: fc.option(name, { nil: undefined }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('undelete tree' as const),
      nth: fc.nat(5),
      generation: fc.integer({ min: 1, max: 2 }),
      as: name,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rename' as const), ref, to: name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('label' as const), ref, key: fc.constantFrom('k', 'l') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('gc' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('write' as const, 'append' as const), ref, path, content }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('mkdir' as const, 'remove' as const), ref, path }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('move' as const, 'copy' as const), ref, path, to: path }) },
)

export const lives = (maxLength: number): fc.Arbitrary<Step[]> => fc.array(step, { minLength: 5, maxLength })

export async function liveBoth(one: Twin, other: Twin, steps: readonly Step[]): Promise<void> {
  for (const [i, each] of steps.entries()) {
    const [a, b] = [await outcome(one, each), await outcome(other, each)]
    expect(b, `step ${i}: ${JSON.stringify(each)}`).toBe(a)
  }
  expect(await stateOf(other)).toEqual(await stateOf(one))
  for (const twin of [one, other]) await checkWhole(twin)
  const [left, right] = [await bringAllBack(one), await bringAllBack(other)]
  expect(right).toEqual(left)
}

async function outcome(twin: Twin, step: Step): Promise<string> {
  try {
    await perform(twin, step)
    return 'ok'
  } catch (error) {
    return toAwError(error).code
  }
}

async function perform(twin: Twin, step: Step): Promise<unknown> {
  const { manager } = twin
  const call = manager.call.bind(manager)
  if (step.do === 'create')
    return call('create', { id: step.name, from: step.copy ? { folder: twin.source } : 'empty' })
  if (step.do === 'ensure') return call('ensure', { id: step.name })
  if (step.do === 'gc') return call('gc', { older_than: '0s' })
  if (step.do === 'undelete tree') {
    const id = await idOf(twin, { nth: step.nth })
    return call('undelete', { id: `${id}.${step.generation}`, as: step.as })
  }
  const id = await idOf(twin, step.ref)
  switch (step.do) {
    case 'destroy':
    case 'reset':
    case 'purge':
      return call(step.do, { id })
    case 'undelete':
      return call('undelete', { id, as: step.as })
    case 'rename':
      return call('rename', { id, to: step.to })
    case 'label':
      return call('label', { id, labels: { [step.key]: 'set' } })
    case 'write':
    case 'append':
      return call(`fs ${step.do}`, { id, path: step.path, content: Buffer.from(step.content) })
    case 'mkdir':
      return call('fs mkdir', { id, path: step.path, parents: true })
    case 'remove':
      return call('fs remove', { id, path: step.path, recursive: true })
    case 'move':
      return call('fs move', { id, from: step.path, to: step.to, parents: true })
    case 'snapshot':
      return call('snapshot', { id, label: step.label, auto: step.auto })
    case 'undo':
    case 'redo':
      return call(step.do, { id })
    case 'restore':
      return call('restore', {
        id,
        snapshot: await snapshotOf(twin, id, step.at),
        paths: step.path === undefined ? undefined : [step.path],
      })
    case 'restore branch':
      return call('restore', { id, branch: step.branch })
    case 'branch':
      return call('branch', { id, name: step.branch, at: await snapshotOf(twin, id, step.at) })
    case 'fork':
      return call('fork', {
        id,
        to: [step.to],
        at: step.at === undefined ? undefined : await snapshotOf(twin, id, step.at),
      })
    case 'remove snapshot':
      return call('snapshot remove', { id, snapshots: [await snapshotOf(twin, id, step.at)] })
    default:
      return call('fs copy', { id, from: step.path, to: step.to, parents: true, recursive: true })
  }
}

const all = ({ manager }: Twin) => manager.call('list', { all: true })

async function idOf(twin: Twin, ref: Ref): Promise<string> {
  if ('name' in ref) return ref.name
  return (await all(twin))[ref.nth]?.id ?? 'nobody'
}

async function snapshotOf({ manager }: Twin, id: string, ref: SnapshotRef): Promise<string> {
  if (typeof ref === 'string') return ref
  return (await manager.call('snapshots', { id }))[ref]?.id ?? 'nothing'
}

/** Everything but ids, paths and times. */
async function stateOf(twin: Twin): Promise<unknown[]> {
  const told = await historyOf(twin)
  return (await all(twin)).map((workspace) => ({
    head: told.name(workspace.head),
    branch: workspace.branch,
    branches: Object.entries(workspace.branches).map(([name, tip]) => [name, told.name(tip as string | null)]),
    snapshots: told.of(workspace.id),
    name: workspace.workspace_id,
    state: workspace.state,
    generation: workspace.generation,
    labels: workspace.labels,
    operation: workspace.operation,
    problem: workspace.problem,
    trash: workspace.trash.map(({ generation, reason }) => ({ generation, reason })),
    tree: isLive(workspace.state) ? twin.read(workspace.path) : null,
  }))
}

/** Snapshots are told by whose they are and how many came before: their ids differ. */
async function historyOf(twin: Twin) {
  const names = new Map<string, string>()
  const histories = new Map<string, Outputs['snapshots']>()
  for (const [i, { id }] of (await all(twin)).entries()) {
    const snapshots = await twin.manager.call('snapshots', { id })
    histories.set(id, snapshots)
    for (const [j, { id: snapshot }] of snapshots.entries()) names.set(snapshot, `${i}.${j}`)
  }
  const name = (id: string | null | undefined): string | null => (id == null ? null : (names.get(id) ?? 'unknown'))
  const of = (id: string): unknown =>
    histories.get(id)?.map(({ id: one, parent, label, reason, branch }) => ({
      name: name(one),
      parent: name(parent),
      label,
      reason,
      branch,
    }))
  return { name, of }
}

/** The read model is the fold of the log, the log verifies, and the disk is as they say. */
async function checkWhole({ manager }: Twin): Promise<void> {
  const { findings } = await manager.call('doctor', { rebuild: true })
  expect(findings.find(({ name }) => name === 'read model')?.message).toMatch(/; 0 differed$/)
  expect(await manager.call('audit verify', {})).toMatchObject({ intact: true })
  expect((await manager.call('verify', {})).snapshots.flatMap(({ problems }) => problems)).toEqual([])
  const empty = { relinked: [], lost: [], orphans: [], leftovers: [] }
  const nothing = { recovered: [], busy: [], failed: [], found: [], ...empty }
  expect(await manager.call('recover', {})).toEqual(nothing)
}

/** Every snapshot of a workspace can be had again, and then what was there before. */
async function visitSnapshots({ manager, read }: Twin, { id, path }: { id: string; path: string }): Promise<Tree[]> {
  const before = read(path)
  const { head } = await manager.call('describe', { id })
  const trees: Tree[] = []
  // What differs from the head is kept by the first restore; all others replace what is a snapshot already.
  let was: string | undefined
  for (const { id: snapshot } of await manager.call('snapshots', { id })) {
    const { kept } = await manager.call('restore', { id, snapshot })
    was ??= kept ?? head?.id
    trees.push(read(path))
    expect(await manager.call('describe', { id })).toMatchObject({ head: { id: snapshot }, dirty: false })
  }
  if (was !== undefined) await manager.call('restore', { id, snapshot: was })
  expect(read(path)).toEqual(before)
  return trees
}

/** Everything that is listed can be destroyed, and all that was ever destroyed comes back byte for byte. */
async function bringAllBack(twin: Twin): Promise<Tree[]> {
  const { manager } = twin
  const seen: Tree[] = []
  for (const workspace of await manager.call('list', {})) seen.push(...(await visitSnapshots(twin, workspace)))
  for (const { id, path, state } of await manager.call('list', {})) {
    expect(state).toBe('ready')
    const before = twin.read(path)
    await manager.call('destroy', { id })
    const back = await manager.call('undelete', { id })
    expect(twin.read(back.path)).toEqual(before)
    await manager.call('destroy', { id })
  }
  expect(await manager.call('list', {})).toEqual([])
  const trees: Tree[] = seen
  for (const [i, { id, trash }] of (await manager.call('list', { trashed: true })).entries()) {
    for (const { tree, reason } of trash) {
      const as = `back-${i}/${tree.split('.')[1] ?? ''}`
      const { path } = await manager.call('undelete', { id: reason === 'reset' ? tree : id, as })
      trees.push(twin.read(path))
    }
  }
  return trees
}
