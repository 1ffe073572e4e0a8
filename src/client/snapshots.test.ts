import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Outputs } from '../api/table.ts'
import { memoryCore } from '../../test/memory/core.ts'
import { makeAw, type Aw } from './facade.ts'
import type { ItemResult } from './forks.ts'
import type { Workspace } from './workspace.ts'

const code = (expected: string): unknown => expect.objectContaining({ code: expected })

/** A workspace `a` with a snapshot `first`, in which `work/f` was `1`; now it is `2` and `work/g` is new. */
async function changed(): Promise<{ aw: Aw; a: Workspace; first: Outputs['snapshot'] }> {
  const aw = makeAw(memoryCore().manager)
  const a = await aw.create({ id: 'a' })
  await a.files.write('work/f', '1')
  const first = await aw.snapshot('a', { label: 'first' })
  await a.files.write('work/f', '2')
  await a.files.write('work/g', 'new')
  return { aw, a, first }
}

describe('snapshots and back', () => {
  it('restore takes a snapshot and paths, one object, or a branch', async () => {
    const { aw, a, first } = await changed()
    expect(await aw.restore('a', 'first', { paths: ['work/f'] })).toMatchObject({ snapshot: first.id, changed: 1 })
    expect([await a.files.readText('work/f'), await a.files.readText('work/g')]).toEqual(['1', 'new'])
    expect(await aw.restore('a', { snapshot: 'first' }, { actor: 'user:x' })).toMatchObject({ removed: 1 })
    await aw.branch('a', { name: 'idea' })
    expect(await aw.restore('a', undefined, { branch: 'idea' })).toMatchObject({ branch: 'idea' })
    expect(await aw.restore('a', { branch: 'main' })).toMatchObject({ branch: 'main' })
    await expect(aw.restore('a', 'nothing')).rejects.toEqual(code('snapshot_not_found'))
  })

  it('snapshot is a method, and its commands are methods of it', async () => {
    const { aw, first } = await changed()
    expect(await aw.snapshot.label('a', { snapshot: 'first', label: 'begin' })).toMatchObject({ label: 'begin' })
    expect(await aw.snapshots('a')).toMatchObject([{ id: first.id, label: 'begin', head: true, tips: ['main'] }])
    const second = await aw.snapshot('a', { message: 'More\nthan that' })
    expect(await aw.snapshot.remove('a', { snapshots: [second.id] })).toEqual({ removed: [second.id] })
    expect(await aw.verify('a')).toMatchObject({ intact: null, snapshots: [{ snapshot: first.id }] })
    expect((await aw.verify()).snapshots).toHaveLength(1)
  })

  it('a handle does the same', async () => {
    const { a, first } = await changed()
    expect(await a.describe()).toMatchObject({ head: { id: first.id }, dirty: true, changes: 2 })
    expect(await a.undo()).toMatchObject({ snapshot: first.id })
    expect(await a.redo()).toMatchObject({ changed: 1, added: 1 })
    const second = await a.snapshot({ label: 'second' })
    expect(await a.snapshot.label('second', null)).toMatchObject({ id: second.id, label: null })
    expect((await a.snapshot.list()).map(({ id }) => id)).toContain(second.id)
    expect(await a.addBranch('idea', { at: 'first' })).toMatchObject({ branch: 'main' })
    expect((await a.refresh()).branches).toMatchObject({ idea: first.id })
    expect(await a.restore(undefined, { branch: 'idea' })).toMatchObject({ snapshot: first.id })
    expect(await a.restore('first')).toMatchObject({ changed: 0 })
    expect((await a.removeBranch('main')).branches.map(({ name }) => name)).toEqual(['idea'])
    expect(await a.snapshot.remove([second.id])).toEqual({ removed: [second.id] })
    expect(await a.verify()).toMatchObject({ intact: null })
  })
})

describe('forks', () => {
  it('one is a handle', async () => {
    const { aw, a, first } = await changed()
    const fork = await aw.fork('a', { id: 'b', at: 'first', labels: { by: 'me' } })
    expectTypeOf(fork).toEqualTypeOf<Workspace>()
    expect(fork).toMatchObject({ name: 'b/main', base: first.id, labels: { by: 'me' } })
    expect(await fork.files.readText('work/f')).toBe('1')
    expect(await a.fork()).toMatchObject({ name: 'a/main-1' })
    await expect(a.fork({ id: 'b' })).rejects.toEqual(code('workspace_exists'))
  })

  it('several have a result each', async () => {
    const { aw, a } = await changed()
    const results = await aw.fork('a', { to: ['b', 'a', 'c/d'] })
    expectTypeOf(results).toEqualTypeOf<ItemResult<Workspace>[]>()
    expect(results).toMatchObject([
      { id: 'b/main', ok: true, result: { name: 'b/main' } },
      { id: 'a/main', ok: false, error: { code: 'workspace_exists' } },
      { id: 'c/d', ok: true },
    ])
    expect((await a.fork({ count: 2, id: 'try' })).map(({ id }) => id)).toEqual(['try/main-1', 'try/main-2'])
  })

  it('a name and several are too much, and unknown fields are refused', async () => {
    const { aw } = await changed()
    // @ts-expect-error: one name or several
    await expect(aw.fork('a', { id: 'b', to: ['c'] })).rejects.toEqual(code('invalid_input'))
    // @ts-expect-error: there is no such field
    await expect(aw.fork('a', { name: 'b' })).rejects.toEqual(code('invalid_input'))
  })
})

describe('diff', () => {
  it('is awaited or iterated, as often as one likes', async () => {
    const { aw } = await changed()
    const diff = aw.diff('a@head', 'a', { text: true })
    const all = await diff
    expectTypeOf(all).toEqualTypeOf<Outputs['diff'][]>()
    expect(all).toMatchObject([
      { path: 'work/f', change: 'changed', what: ['content'], text: expect.stringContaining('-1') as string },
      { path: 'work/g', change: 'added', before: null },
    ])
    const seen: string[] = []
    for await (const { path } of diff) seen.push(path)
    expect(seen).toEqual(['work/f', 'work/g'])
    expect(await aw.diff('a', 'a@head', { paths: ['work/g'] })).toMatchObject([{ path: 'work/g', change: 'removed' }])
  })

  it('of a handle tells what changed here', async () => {
    const { a } = await changed()
    expect((await a.diff()).map(({ path }) => path)).toEqual(['work/f', 'work/g'])
    const fork = await a.fork({ id: 'b' })
    await fork.files.remove('work/g')
    expect(await fork.diff(a)).toMatchObject([{ path: 'work/g', change: 'removed' }])
    expect(await a.diff('b', { limit: 1 })).toMatchObject([{ path: 'work/g', change: 'added' }])
  })

  it('fails where it is waited for', async () => {
    const { aw } = await changed()
    await expect(aw.diff('nobody')).rejects.toEqual(code('workspace_not_found'))
    await expect(aw.diff('a', undefined, { limit: 0 })).rejects.toEqual(code('invalid_input'))
    const iterate = async (): Promise<void> => {
      for await (const _ of aw.diff('a', undefined, { limit: 0 })) break
    }
    await expect(iterate()).rejects.toEqual(code('invalid_input'))
  })
})
