import { describe, expect, it } from 'vitest'
import { sampleData } from '../../../test/support/sample-events.ts'
import type { AnyEvent, EventData } from '../log/event.ts'
import type { SnapshotId } from '../ids.ts'
import type { SnapshotFacts } from './events.ts'
import { evolve } from './evolve.ts'
import { foldSnapshots, makeRoom, snapshotTree, type Snapshot, type SnapshotNode } from './snapshots.ts'
import type { Workspace } from './state.ts'

const snap = (name: string): SnapshotId => `snap_${name}`

function event<T extends keyof EventData>(type: T, data: Partial<EventData[T]>, index = 0): AnyEvent {
  return {
    id: `ev_${index}`,
    stream: 'ws_1',
    version: index + 1,
    position: index + 1,
    at: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString(),
    type,
    schema: 1,
    data: { ...sampleData[type as 'snapshot_created'], ...data },
    meta: { actor: 'user:7', correlation_id: 'cor_1', causation_id: null, operation: { id: 'op_1', epoch: 1 } },
    hash: '',
  } as unknown as AnyEvent
}

function facts(name: string, parent: string | null, more: Partial<SnapshotFacts> = {}): SnapshotFacts {
  const { task_id: _task, agent_id: _agent, ...sample } = sampleData.snapshot_created
  return {
    ...sample,
    snapshot: snap(name),
    parent: parent === null ? null : snap(parent),
    label: null,
    key: null,
    ...more,
  }
}

const made = (name: string, parent: string | null, more: Partial<SnapshotFacts> = {}): AnyEvent =>
  event('snapshot_created', facts(name, parent, more))

const removed = (...names: [string, string | null][]): AnyEvent =>
  event('snapshot_removed', {
    snapshots: names.map(([name, parent]) => ({
      snapshot: snap(name),
      parent: parent === null ? null : snap(parent),
      reason: 'user',
    })),
    why: 'user',
  })

const parents = (events: AnyEvent[]): Record<string, string | null> =>
  Object.fromEntries([...foldSnapshots(events).values()].map(({ snapshot, parent }) => [snapshot, parent]))

describe('the snapshots of a workspace are a fold of its stream', () => {
  it('oldest first, with who made them and when', () => {
    const [one, two] = foldSnapshots([made('a', null), made('b', 'a', { label: 'x' })]).values()
    expect(one).toMatchObject({ snapshot: 'snap_a', parent: null, workspace: 'ws_1', author: 'user:7' })
    expect(two).toMatchObject({ snapshot: 'snap_b', parent: 'snap_a', label: 'x', at: '2026-01-01T00:00:00.000Z' })
    expect(two).not.toHaveProperty('task_id')
  })

  it('with those that a restore kept', () => {
    const restored = event('workspace_restored', { kept: [facts('k', 'a', { reason: 'safety' })] })
    expect(parents([made('a', null), restored])).toEqual({ snap_a: null, snap_k: 'snap_a' })
  })

  it('with the last label each was given', () => {
    const labelled = (label: string | null): AnyEvent => event('snapshot_labelled', { snapshot: snap('a'), label })
    expect(foldSnapshots([made('a', null), labelled('x'), labelled('y')]).get(snap('a'))?.label).toBe('y')
    expect(foldSnapshots([made('a', null), labelled('x'), labelled(null)]).get(snap('a'))?.label).toBeNull()
    expect(foldSnapshots([labelled('x')]).size).toBe(0)
  })

  it('part by part as all at once, and what was known before stays as it was', () => {
    const labelled = event('snapshot_labelled', { snapshot: snap('b'), label: 'x' })
    const restored = event('workspace_restored', { kept: [facts('k', 'b', { reason: 'safety' })] })
    const all = [made('a', null), made('b', 'a'), labelled, restored, removed(['b', 'a']), made('c', 'k')]
    for (let cut = 0; cut <= all.length; cut++) {
      const before = foldSnapshots(all.slice(0, cut))
      const known = [...before]
      expect([...foldSnapshots(all.slice(cut), before)]).toEqual([...foldSnapshots(all)])
      expect([...before]).toEqual(known)
    }
  })

  it('where what grew from removed ones grows from the nearest that is left, in whatever order they go', () => {
    const chain = [made('a', null), made('b', 'a'), made('c', 'b'), made('d', 'c')]
    const expected = { snap_a: null, snap_d: 'snap_a' }
    expect(parents([...chain, removed(['b', 'a'], ['c', 'b'])])).toEqual(expected)
    expect(parents([...chain, removed(['c', 'b'], ['b', 'a'])])).toEqual(expected)
    expect(parents([...chain, removed(['a', null])])).toMatchObject({ snap_b: null })
    const counted = (...events: AnyEvent[]) => foldSnapshots([...chain, ...events]).get(snap('c'))
    expect(counted()).toMatchObject({ files_changed: 3 })
    const gone = counted(removed(['b', 'a']), removed(['a', null]))
    expect(gone).toMatchObject({ parent: null, files_changed: null, differed: 3 })
    const purged = event('workspace_purged', { trees: [], snapshots: [snap('a'), snap('b')] })
    expect(parents([...chain, purged])).toEqual({ snap_c: null, snap_d: 'snap_c' })
  })
})

describe('room for one more', () => {
  const list = (...all: [string, Partial<SnapshotFacts>][]): Snapshot[] =>
    all.map(([name, more]) => ({ ...facts(name, null, more), workspace: 'ws_1', author: '', at: '' }))
  const auto = { reason: 'auto' } as const
  const user = { reason: 'user' } as const

  it('is there below the limit, whatever safety copies and forks there are', () => {
    const all = list(['a', user], ['b', { reason: 'safety' }], ['c', { reason: 'fork' }])
    expect(makeRoom(all, 2, new Set())).toEqual([])
    expect(makeRoom([], 1, new Set())).toEqual([])
  })

  it('is made by the oldest automatic ones that nobody needs or named', () => {
    const all = list(['a', user], ['b', auto], ['c', { ...auto, label: 'named' }], ['d', auto], ['e', auto])
    expect(makeRoom(all, 5, new Set())).toEqual(['snap_b'])
    expect(makeRoom(all, 5, new Set([snap('b')]))).toEqual(['snap_d'])
    expect(makeRoom(all, 3, new Set())).toEqual(['snap_b', 'snap_d', 'snap_e'])
    expect(makeRoom(all, 2, new Set())).toBeUndefined()
  })

  it('is not made by what somebody asked for', () => {
    expect(makeRoom(list(['a', user], ['b', user]), 2, new Set())).toBeUndefined()
  })
})

describe('a tree of snapshots', () => {
  interface View {
    readonly id: string
    readonly parent: string | null
  }
  const shape = (nodes: readonly SnapshotNode<View>[]): unknown[] =>
    nodes.map(({ snapshot, children }) => [snapshot.id, ...shape(children)])
  const tree = (parents: Record<string, string | null>): unknown[] =>
    shape(snapshotTree(Object.entries(parents).map(([id, parent]) => ({ id, parent }))))

  it('has siblings by age, and what came from elsewhere at the top', () => {
    expect(tree({ a: 'of another', b: 'a', c: 'a', d: 'b', e: null })).toEqual([['a', ['b', ['d']], ['c']], ['e']])
    expect(tree({})).toEqual([])
  })
})

describe('where a workspace stands', () => {
  const begun = [event('workspace_create_started', {}), event('workspace_created', {})]
  const stand = (...events: AnyEvent[]): Workspace => {
    const state = [...begun, ...events].reduce(evolve, undefined as Workspace | undefined)
    if (state === undefined) throw new Error('there is no workspace')
    return state
  }
  const restored = (more: Partial<EventData['workspace_restored']>): AnyEvent =>
    event('workspace_restored', { kept: [], replaced: null, paths: null, branch: 'main', ...more })
  const two = [made('a', null), made('b', 'a')]

  it('moves with each snapshot, but not with safety copies', () => {
    expect(stand(...two)).toMatchObject({ head: 'snap_b', branches: { main: 'snap_b' }, snapshots: { all: 2 } })
    expect(stand(...two, made('s', 'b', { reason: 'safety' }))).toMatchObject({
      head: 'snap_b',
      snapshots: { all: 3, counted: 2 },
    })
  })

  it('piles up what was undone, takes it off with redo, and forgets it with anything else', () => {
    const undo = restored({ how: 'undo', snapshot: snap('a'), replaced: snap('b') })
    const undone = (...names: string[]) => names.map((name) => ({ snapshot: snap(name), branch: 'main' }))
    expect(stand(...two, undo)).toMatchObject({ head: 'snap_a', redo: undone('b') })
    const kept = facts('k', 'a', { reason: 'safety' })
    const again = restored({ how: 'undo', snapshot: snap('a'), replaced: snap('k'), kept: [kept] })
    expect(stand(...two, undo, again)).toMatchObject({ redo: undone('k', 'b'), snapshots: { all: 3, counted: 2 } })
    const redo = restored({ how: 'redo', snapshot: snap('k'), replaced: snap('a') })
    expect(stand(...two, undo, again, redo)).toMatchObject({ head: 'snap_k', redo: undone('b') })
    expect(stand(...two, undo, made('c', 'a'))).toMatchObject({ redo: [] })
    for (const paths of [null, ['f']])
      expect(stand(...two, undo, restored({ how: 'restore', snapshot: snap('b'), paths }))).toMatchObject({ redo: [] })
    expect(stand(...two, undo, removed(['b', 'a']))).toMatchObject({ redo: [] })
  })

  it('stays where it is when only paths come back', () => {
    const paths = restored({
      how: 'restore',
      snapshot: snap('a'),
      paths: ['f'],
      generation: 9,
      kept: [facts('k', 'b')],
    })
    expect(stand(...two, paths)).toMatchObject({ head: 'snap_b', generation: 1, snapshots: { all: 3 } })
  })

  const to = (name: string, replaced: string, more: Partial<EventData['workspace_restored']> = {}): AnyEvent =>
    restored({ how: 'restore', snapshot: snap(name), replaced: snap(replaced), ...more })
  const before = (...names: string[]) => names.map((name) => ({ snapshot: snap(name), branch: 'main', paths: null }))

  it('knows what the last restore replaced, until something else is done', () => {
    const restore = to('a', 'b')
    expect(stand(...two, restore).before).toEqual(before('b'))
    expect(stand(...two, restore, made('s', 'a', { reason: 'safety' })).before).toEqual(before('b'))
    expect(stand(...two, restore, to('a', 'k', { how: 'undo' })).before).toEqual(before('b'))
    for (const next of [
      made('c', 'a'),
      to('b', 'a', { how: 'undo' }),
      removed(['b', 'a']),
      event('workspace_reset', { generation: 2, tree: 't' }),
    ])
      expect(stand(...two, restore, next)).toMatchObject({ before: [] })
    const paths = to('a', 'b', { paths: ['f'] })
    expect(stand(...two, paths)).toMatchObject({ head: 'snap_b', before: [{ snapshot: 'snap_b', paths: ['f'] }] })
    const unfinished = to('a', 'k', { how: 'undo', paths: [] })
    expect(stand(...two, unfinished)).toMatchObject({ head: 'snap_b', before: [{ snapshot: 'snap_k', paths: [] }] })
  })

  it('knows what each of several restores replaced, and what was undone on which branch', () => {
    const three = [...two, made('c', 'b')]
    const twice = [...three, to('b', 'c'), to('a', 'b')]
    expect(stand(...twice).before).toEqual(before('b', 'c'))
    const undone = [...twice, to('b', 'a', { how: 'undo' })]
    expect(stand(...undone).before).toEqual(before('c'))
    expect(stand(...undone, to('a', 'b', { how: 'redo' })).before).toEqual(before('b', 'c'))
    expect(stand(...twice, removed(['b', 'a'])).before).toEqual(before('c'))
    const paths = [...three, to('a', 'c', { paths: ['f'] }), to('b', 'k', { paths: ['f'] })]
    expect(stand(...paths, to('k', 'l', { how: 'undo', paths: ['f'] })).before).toEqual([
      { snapshot: 'snap_c', branch: 'main', paths: ['f'] },
    ])
    const side = to('a', 'c', { branch: 'side' })
    expect(stand(...three, side, to('c', 'a', { how: 'undo' }))).toMatchObject({
      branch: 'main',
      redo: [{ snapshot: 'snap_a', branch: 'side' }],
      before: [],
    })
  })

  it('has nothing more to undo after a restore that changed nothing, and 20 restores at the most', () => {
    expect(stand(...two, to('a', 'b'), to('a', 'a')).before).toEqual(before('b'))
    const many = Array.from({ length: 30 }, (_, i) => to(`t${i + 1}`, `t${i}`))
    expect(stand(...two, ...many).before.map(({ snapshot }) => snapshot)).toEqual(
      Array.from({ length: 20 }, (_, i) => snap(`t${29 - i}`)),
    )
  })

  it('is another branch after a restore of that', () => {
    const side = event('workspace_branched', { branch: 'side', snapshot: snap('a'), removed: false })
    const there = restored({ how: 'restore', snapshot: snap('a'), branch: 'side' })
    expect(stand(...two, side, there)).toMatchObject({
      head: 'snap_a',
      branch: 'side',
      branches: { main: 'snap_b', side: 'snap_a' },
    })
  })

  it('is the nearest that is left when the head or the end of a branch is removed', () => {
    const side = event('workspace_branched', { branch: 'side', snapshot: snap('b'), removed: false })
    const chain = [...two, made('c', 'b'), side]
    expect(stand(...chain, removed(['b', 'a'], ['c', 'b']))).toMatchObject({
      head: 'snap_a',
      branches: { main: 'snap_a', side: 'snap_a' },
      snapshots: { all: 1, counted: 1 },
    })
    expect(stand(...chain, removed(['a', null], ['b', 'a'], ['c', 'b']))).toMatchObject({ head: null })
  })
})
