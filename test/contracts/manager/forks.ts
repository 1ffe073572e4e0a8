import { expect, it } from 'vitest'
import type { Inputs } from '../../../src/api/table.ts'
import { collect } from '../../support/collect.ts'
import { code, forkOf, type OpenManager } from '../manager.ts'
import { workOf } from './restore.ts'

export function forkContract(open: OpenManager): void {
  it('a fork begins as its origin is now, and neither sees the other from then on', async () => {
    const { aw } = await open()
    const made = await aw.create({
      id: 'a',
      labels: { team: 'web' },
      config: { max_size_mb: 7, task_spec: { goal: 'win' }, claude_md: 'Be kind.' },
    })
    await made.files.write('work/f', 'unsaved')
    const { source, snapshot, forks } = await forkOf(aw, 'a', { to: ['b/one'] })
    expect({ source, forks }).toMatchObject({ source: 'a/main', forks: [{ name: 'b/one', ok: true, error: null }] })
    const fork = await aw.get('b/one')
    expect(fork).toMatchObject({ state: 'ready', generation: 1, labels: { team: 'web' }, config: { max_size_mb: 7 } })
    expect(await workOf(fork)).toEqual(await workOf(made))
    expect(await fork.files.readText('CLAUDE.md')).toBe(await made.files.readText('CLAUDE.md'))
    const told = async (name: string): Promise<unknown> => JSON.parse(await fork.files.readText(`.aw/${name}.json`))
    expect(await told('task_spec')).toMatchObject({ goal: 'win', task_id: 'b', agent_id: 'one' })
    expect(await told('workspace_config')).toMatchObject({
      task_id: 'b',
      workspace_path: expect.stringMatching(/\/b\/one$/) as string,
      max_size_mb: 7,
    })
    expect(await aw.describe('b/one')).toMatchObject({ head: { id: snapshot, workspace: 'a/main' }, dirty: false })
    expect(await aw.describe('a')).toMatchObject({ head: { id: snapshot, reason: 'fork' }, dirty: false })

    await fork.files.write('work/f', 'by the fork')
    await made.files.write('work/g', 'by the origin')
    expect(await workOf(made)).toEqual({ f: 'unsaved', g: 'by the origin' })
    expect(await workOf(fork)).toEqual({ f: 'by the fork' })
    expect(await aw.snapshots('b/one')).toEqual([])
    expect(await aw.snapshot('b/one')).toMatchObject({ parent: snapshot })
    expect(await aw.snapshots('a')).toHaveLength(1)
  })

  it('forks are named, numbered, or both, and never take a name that is taken', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    const names = async (input: Omit<Inputs['fork'], 'id'>): Promise<string[]> =>
      (await forkOf(aw, 'a', input)).forks.map(({ name }) => name)
    expect(await names({})).toEqual(['a/main-1'])
    expect(await names({ count: 2 })).toEqual(['a/main-2', 'a/main-3'])
    expect(await names({ to: ['try/one', 'two'] })).toEqual(['try/one', 'two/main'])
    await aw.create({ id: 'b/main-2' })
    expect(await names({ to: ['b'], count: 3 })).toEqual(['b/main-1', 'b/main-3', 'b/main-4'])
    expect(await names({ to: [], labels: { only: 'these' } })).toEqual(['a/main-4'])
    expect((await aw.get('a/main-4')).labels).toEqual({ only: 'these' })
  })

  it('what is asked for wrongly is refused before anything happens', async () => {
    const { aw } = await open()
    const { id } = await aw.create({ id: 'a' })
    const before = await collect(aw.events({ workspace: id }))
    await expect(forkOf(aw, 'a', { to: ['x', 'y'], count: 2 })).rejects.toEqual(
      code('invalid_input', { field: 'count' }),
    )
    await expect(forkOf(aw, 'a', { to: ['x', 'a b'] })).rejects.toEqual(code('invalid_name'))
    for (const count of [0, 1001]) await expect(forkOf(aw, 'a', { count })).rejects.toEqual(code('invalid_input'))
    await expect(forkOf(aw, 'a', { at: 'never' })).rejects.toEqual(code('snapshot_not_found'))
    await expect(forkOf(aw, 'missing')).rejects.toEqual(code('workspace_not_found'))
    expect(await collect(aw.events({ workspace: id }))).toEqual(before)
    await aw.destroy('a')
    await expect(forkOf(aw, id)).rejects.toEqual(code('invalid_state', { state: 'trashed' }))
    expect(await aw.list({})).toEqual([])
  })

  it('of several each succeeds or fails by itself; a single one fails as a create does', async () => {
    const { aw } = await open()
    await aw.create({ id: 'a' })
    const { id } = await aw.create({ id: 'taken' })
    await expect(forkOf(aw, 'a', { to: ['taken'] })).rejects.toEqual(code('workspace_exists', { id }))
    const { forks } = await forkOf(aw, 'a', { to: ['one', 'taken', 'one', 'two'] })
    expect(forks.map(({ name, ok, error }) => [name, ok, error?.code])).toEqual([
      ['one/main', true, undefined],
      ['taken/main', false, 'workspace_exists'],
      ['one/main', false, 'workspace_exists'],
      ['two/main', true, undefined],
    ])
    expect((await aw.list({})).map(({ name }) => name)).toEqual(['a/main', 'taken/main', 'one/main', 'two/main'])
  })

  it('a fork begins as an older snapshot if asked', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'old')
    const old = await aw.snapshot('a', { label: 'tests pass' })
    await made.files.write('work/f', 'new')
    const { snapshot } = await forkOf(aw, 'a', { to: ['b'], at: 'tests pass' })
    expect(snapshot).toBe(old.id)
    expect(await workOf(await aw.get('b'))).toEqual({ f: 'old' })
    expect(await workOf(made)).toEqual({ f: 'new' })
    expect(await aw.snapshots('a')).toHaveLength(1)
  })

  it('a fork begins with the times of what was written as it was, and with no new snapshot if nothing was', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'same')
    const first = await aw.snapshot('a')
    expect((await forkOf(aw, 'a', { to: ['unchanged'] })).snapshot).toBe(first.id)
    await made.files.write('work/f', 'same')
    expect(await aw.describe('a')).toMatchObject({ dirty: false, changes: 0 })
    expect((await forkOf(aw, 'a', { to: ['b'] })).snapshot).not.toBe(first.id)
    const times = ['a', 'b'].map(async (id) => (await (await aw.get(id)).files.stat('work/f')).mtime)
    const [origin, fork] = await Promise.all(times)
    expect(fork).toBe(origin)
  })

  it('a fork is forked: from itself, unchanged, and from where it began', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'a')
    const first = await forkOf(aw, 'a', { to: ['b'] })
    await forkOf(aw, 'b', { to: ['unchanged'] })
    const b = await aw.get('b')
    await b.files.write('work/f', 'b')
    await aw.snapshot('b')
    const second = await forkOf(aw, 'b', { to: ['c'] })
    const third = await forkOf(aw, 'b', { to: ['d'], at: 'base' })
    expect(third.snapshot).toBe(first.snapshot)
    const contents = async (id: string): Promise<string> => (await aw.get(id)).files.readText('work/f')
    expect(await Promise.all(['a', 'b', 'c', 'd', 'unchanged'].map(contents))).toEqual(['a', 'b', 'b', 'a', 'a'])
    for (const id of ['c', 'd', 'unchanged']) expect(await aw.describe(id)).toMatchObject({ dirty: false, changes: 0 })
    expect(await aw.describe('d')).toMatchObject({ head: { id: first.snapshot, workspace: 'a/main' } })
    await (await aw.get('d')).files.write('work/f', 'd')
    await aw.restore('d', { snapshot: 'base' })
    expect(await contents('d')).toBe('a')
    expect(await aw.show('c')).toMatchObject({ forked_from: { name: 'b/main', snapshot: second.snapshot } })
  })

  it('show tells where a workspace came from and what came from it', async () => {
    const { aw } = await open()
    const { id } = await aw.create({ id: 'a' })
    const { snapshot } = await forkOf(aw, 'a', { to: ['b', 'c'] })
    const b = await aw.get('b')
    expect(await aw.show('a')).toMatchObject({
      forked_from: null,
      forks: [
        { id: b.id, name: 'b/main', snapshot },
        { name: 'c/main', snapshot },
      ],
    })
    expect(await aw.show('b')).toMatchObject({ forked_from: { id, name: 'a/main', snapshot }, forks: [] })
    await aw.rename('a', { to: 'renamed' })
    await aw.destroy('c', { purge: true })
    await aw.rename('b', { to: 'b/new' })
    expect(await aw.show('renamed')).toMatchObject({ forks: [{ id: b.id, name: 'b/new' }] })
    expect(await aw.show('b/new')).toMatchObject({ forked_from: { id, name: 'a/main' } })
  })

  it('what a fork began as cannot be removed while the fork is there, and goes when nobody needs it', async () => {
    const { aw, manager } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'a')
    const own = await aw.snapshot('a')
    await made.files.write('work/f', 'again')
    const { snapshot } = await forkOf(aw, 'a', { to: ['b'] })
    const refused = aw.snapshot.remove('a', { snapshots: [own.id, snapshot] })
    await expect(refused).rejects.toEqual(code('invalid_state', { snapshot, forks: ['b/main'] }))
    await expect(aw.snapshot.remove('b', { snapshots: ['base'] })).rejects.toEqual(code('snapshot_not_found'))
    await expect(aw.snapshot.label('b', { snapshot, label: 'x' })).rejects.toEqual(code('snapshot_not_found'))
    expect(await aw.snapshots('a')).toHaveLength(2)
    await aw.destroy('b')
    await expect(aw.snapshot.remove('a', { snapshots: [snapshot] })).rejects.toEqual(code('invalid_state'))
    await aw.undelete('b')

    await aw.destroy('a', { purge: true })
    expect(await aw.snapshots(made.id)).toMatchObject([{ id: snapshot }])
    // The fork keeps it, so others can begin as it too; what went with the workspace cannot be had back.
    await aw.create({ id: 'c', from_workspace: snapshot })
    expect(await (await aw.get('c')).files.readText('work/f')).toBe('again')
    await aw.destroy('c', { purge: true })
    await expect(aw.create({ id: 'c', from_workspace: own.id })).rejects.toMatchObject({
      code: 'snapshot_not_found',
      message: `a/main was erased, and its snapshot "${own.id}" with it`,
    })
    await expect(aw.fork(made.id, { to: ['c'] })).rejects.toEqual(code('invalid_state'))
    expect(await aw.describe('b')).toMatchObject({ head: { id: snapshot }, dirty: false })
    const b = await aw.get('b')
    await b.files.write('work/f', 'changed')
    await aw.reset('b')
    expect(await b.files.readText('work/f')).toBe('again')
    await aw.destroy('b', { purge: true })
    await aw.gc({ older_than: '0s' })
    expect(await aw.snapshots(made.id)).toEqual([])
    expect(await manager.call('recover', {})).toMatchObject({ lost: [], orphans: [], leftovers: [] })
  })

  it('a reset of a fork starts over from what it began as', async () => {
    const { aw } = await open()
    const made = await aw.create({ id: 'a' })
    await made.files.write('work/f', 'origin')
    const { snapshot } = await forkOf(aw, 'a', { to: ['b'] })
    await made.files.write('work/f', 'origin goes on')
    const fork = await aw.get('b')
    await fork.files.write('work/f', 'fork goes on')
    const own = await aw.snapshot('b')
    await fork.files.write('work/new', 'unsaved')
    expect(await aw.reset('b')).toMatchObject({ generation: 2, trash: [{ reason: 'reset' }] })
    expect(await workOf(fork)).toEqual({ f: 'origin' })
    expect(await aw.describe('b')).toMatchObject({ head: { id: snapshot }, dirty: false })
    await expect(aw.redo('b')).rejects.toEqual(code('nothing_to_redo'))
    await aw.restore('b', { snapshot: own.id })
    expect(await workOf(fork)).toEqual({ f: 'fork goes on' })
  })

  it('a fork that is cancelled is undone, and those that were made before it stay', async () => {
    const { aw, manager } = await open()
    const made = await aw.create({ id: 'a' })
    for (let i = 0; i < 30; i++) await made.files.write(`work/${i}`, `${i}`)
    for (let delay = 0; delay < 10; delay++) {
      const stop = new AbortController()
      const to = Array.from({ length: 4 }, (_, i) => `fork-${delay}/${i}`)
      const call = forkOf(aw, 'a', { to }, { signal: stop.signal })
      setTimeout(() => stop.abort(), delay)
      const told = await call.then(
        () => 'made',
        (error: unknown) => (error as { code: string }).code,
      )
      expect(['made', 'aborted']).toContain(told)
    }
    const forks = (await aw.list({})).filter(({ name }) => name.startsWith('fork-'))
    expect(forks.every(({ state, operation }) => state === 'ready' && operation === null)).toBe(true)
    for (const fork of forks) expect(Object.keys(await workOf(fork))).toHaveLength(30)
    const nothing = { recovered: [], orphans: [], leftovers: [], lost: [] }
    expect(await manager.call('recover', {})).toMatchObject(nothing)
  })
}
