import fc from 'fast-check'
import { expect } from 'vitest'
import { toAwError } from '../domain/errors.ts'
import { isLive } from '../domain/workspace/state.ts'
import type { Manager } from '../ports/manager.ts'
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

const step: fc.Arbitrary<Step> = fc.oneof(
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
    default:
      return call('fs copy', { id, from: step.path, to: step.to, parents: true, recursive: true })
  }
}

const all = ({ manager }: Twin) => manager.call('list', { all: true })

async function idOf(twin: Twin, ref: Ref): Promise<string> {
  if ('name' in ref) return ref.name
  return (await all(twin))[ref.nth]?.id ?? 'nobody'
}

/** Everything but ids, paths and times. */
async function stateOf(twin: Twin): Promise<unknown[]> {
  return (await all(twin)).map((workspace) => ({
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

/** The read model is the fold of the log, the log verifies, and the disk is as they say. */
async function checkWhole({ manager }: Twin): Promise<void> {
  const { findings } = await manager.call('doctor', { rebuild: true })
  expect(findings.find(({ name }) => name === 'read model')?.message).toMatch(/; 0 differed$/)
  expect(await manager.call('audit verify', {})).toMatchObject({ intact: true })
  const empty = { relinked: [], lost: [], orphans: [], leftovers: [] }
  const nothing = { recovered: [], busy: [], failed: [], found: [], ...empty }
  expect(await manager.call('recover', {})).toEqual(nothing)
}

/** Everything that is listed can be destroyed, and all that was ever destroyed comes back byte for byte. */
async function bringAllBack(twin: Twin): Promise<Tree[]> {
  const { manager } = twin
  for (const { id, path, state } of await manager.call('list', {})) {
    expect(state).toBe('ready')
    const before = twin.read(path)
    await manager.call('destroy', { id })
    const back = await manager.call('undelete', { id })
    expect(twin.read(back.path)).toEqual(before)
    await manager.call('destroy', { id })
  }
  expect(await manager.call('list', {})).toEqual([])
  const trees: Tree[] = []
  for (const [i, { id, trash }] of (await manager.call('list', { trashed: true })).entries()) {
    for (const { tree, reason } of trash) {
      const as = `back-${i}/${tree.split('.')[1] ?? ''}`
      const { path } = await manager.call('undelete', { id: reason === 'reset' ? tree : id, as })
      trees.push(twin.read(path))
    }
  }
  return trees
}
