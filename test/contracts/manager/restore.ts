import { expect, it } from 'vitest'
import type { Workspace } from '../../../src/client/workspace.ts'
import { code, forkOf, type OpenManager, type Opened } from '../manager.ts'
import { unknownSnapshot } from './snapshots.ts'

/** Everything below the work directory: what is a file with its content. */
export async function workOf({ files }: Workspace): Promise<Record<string, string>> {
  const work: Record<string, string> = {}
  for (const { path, kind } of (await files.tree('work')).entries ?? [])
    work[path] = kind === 'file' ? await files.readText(`work/${path}`) : kind
  return work
}

async function withSnapshot(open: OpenManager): Promise<Opened & { made: Workspace; first: string }> {
  const opened = await open()
  const made = await opened.aw.create({ id: 'a' })
  await made.files.write('work/f', 'first')
  await made.files.write('work/d/e/g', 'deep')
  const { id: first } = await opened.aw.snapshot('a', { label: 'first' })
  return { ...opened, made, first }
}

export function restoreContract(open: OpenManager): void {
  it('a restore brings a snapshot back and keeps what was there', async () => {
    const { aw, made, first } = await withSnapshot(open)
    const before = await workOf(made)
    await made.files.write('work/f', 'second')
    await made.files.write('work/new', 'n')
    await made.files.remove('work/d', { recursive: true })
    const newer = await aw.snapshot('a', { label: 'newer' })
    await made.files.write('work/newest', 'unsaved')
    const replaced = await workOf(made)
    const done = await aw.restore('a', { snapshot: 'first' })
    expect(done).toMatchObject({ workspace: 'a/main', snapshot: first, branch: 'main', paths: null })
    expect(done).toMatchObject({ added: 3, changed: 1, removed: 2 })
    expect(done.changes).toEqual(['work/d', 'work/d/e', 'work/d/e/g', 'work/f', 'work/new', 'work/newest'])
    expect(await workOf(made)).toEqual(before)
    expect(await aw.describe('a')).toMatchObject({ head: { id: first }, dirty: false })
    expect(await aw.show('a')).toMatchObject({ generation: 2, state: 'ready', operation: null, problem: null })
    expect((await aw.branch('a')).branches).toMatchObject([{ name: 'main', snapshot: first }])
    const kept = (await aw.snapshots('a')).find(({ id }) => id === done.kept)
    expect(kept).toMatchObject({ reason: 'safety', parent: newer.id, label: null })
    await aw.restore('a', { snapshot: done.kept ?? '' })
    expect(await workOf(made)).toEqual(replaced)
    expect((await aw.snapshots('a')).map(({ label }) => label)).toEqual(['first', 'newer', null])
  })

  it('a restore of a tree that is its head leaves no copy of it behind', async () => {
    const { aw, made } = await withSnapshot(open)
    for (const paths of [undefined, ['work/f']])
      expect(await aw.restore('a', { paths })).toMatchObject({ kept: null, added: 0, changed: 0, removed: 0 })
    expect(await aw.snapshots('a')).toHaveLength(1)
    expect(await made.files.readText('work/f')).toBe('first')
  })

  it("aw's own directory is no part of it and tells the present", async () => {
    const { aw, made } = await withSnapshot(open)
    const told = async (): Promise<unknown> => JSON.parse(await made.files.readText('.aw/workspace_config.json'))
    const before = await told()
    await aw.rename('a', { to: 'b' })
    expect(await aw.describe('b')).toMatchObject({ dirty: false })
    expect(await aw.restore('b', { snapshot: 'first' })).toMatchObject({ added: 0, changed: 0, removed: 0 })
    expect(before).toMatchObject({ task_id: 'a' })
    expect(await told()).toMatchObject({ task_id: 'b', workspace_path: expect.stringMatching(/\/b\/main$/) as string })
  })

  it('a restore to what is not a snapshot of the workspace changes nothing', async () => {
    const { aw, made } = await withSnapshot(open)
    const { snapshot } = await forkOf(aw, 'a', { to: ['fork'] })
    await aw.create({ id: 'other' })
    const other = await aw.snapshot('other', { label: 'theirs' })
    await made.files.write('work/f', 'unsaved')
    const [before, history] = [await workOf(made), await aw.snapshots('a')]
    for (const wrong of [unknownSnapshot, other.id, 'theirs', 'frist', 'base', '', 'a@first']) {
      await expect(aw.restore('a', { snapshot: wrong })).rejects.toEqual(code('snapshot_not_found'))
      await expect(aw.restore('a', { snapshot: wrong, paths: ['work/f'] })).rejects.toEqual(code('snapshot_not_found'))
    }
    await expect(aw.restore('other', { snapshot })).rejects.toEqual(code('snapshot_not_found'))
    await expect(aw.restore('a', { branch: 'none' })).rejects.toEqual(code('snapshot_not_found'))
    await expect(aw.restore('a', { branch: 'main', snapshot: 'first' })).rejects.toEqual(code('invalid_input'))
    await expect(aw.restore('a', { branch: 'main', paths: ['work/f'] })).rejects.toEqual(code('invalid_input'))
    await aw.create({ id: 'bare' })
    await expect(aw.restore('bare')).rejects.toEqual(code('snapshot_not_found'))
    expect(await workOf(made)).toEqual(before)
    expect(await aw.snapshots('a')).toEqual(history)
    expect(await aw.show('a')).toMatchObject({ generation: 1, operation: null })
  })

  it('a restore of a branch goes on there, and what it left behind stays on the other', async () => {
    const { aw, made, first } = await withSnapshot(open)
    await aw.branch('a', { name: 'idea' })
    await made.files.write('work/f', 'main goes on')
    const onMain = await aw.snapshot('a')
    expect(await aw.restore('a', { branch: 'idea' })).toMatchObject({ branch: 'idea', snapshot: first })
    expect(await made.files.readText('work/f')).toBe('first')
    const onIdea = await aw.snapshot('a')
    expect(onIdea).toMatchObject({ branch: 'idea', parent: first })
    expect((await aw.branch('a')).branches.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual([
      { name: 'idea', snapshot: onIdea.id, current: true },
      { name: 'main', snapshot: onMain.id, current: false },
    ])
    await aw.restore('a', { branch: 'main' })
    expect(await made.files.readText('work/f')).toBe('main goes on')
    await aw.branch('a', { name: 'idea', remove: true })
    await expect(aw.restore('a', { branch: 'idea' })).rejects.toEqual(code('snapshot_not_found'))
    await aw.restore('a', { snapshot: onIdea.id })
  })

  it('single paths come back: a file, a directory, and one that goes as it was not there', async () => {
    const { aw, made, first } = await withSnapshot(open)
    await made.files.write('work/f', 'changed')
    await made.files.write('work/d/e/g', 'changed')
    await made.files.write('work/d/more', 'new')
    await made.files.write('work/new', 'new')
    await made.files.write('work/stays', 'untouched')
    const before = await workOf(made)
    const done = await aw.restore('a', { snapshot: 'first', paths: ['work/f', './work//d/', 'work/d/e', 'work/new'] })
    expect(done).toMatchObject({ snapshot: first, paths: ['work/f', 'work/d', 'work/new'] })
    expect(done).toMatchObject({ added: 0, changed: 2, removed: 2 })
    expect(await workOf(made)).toEqual({
      f: 'first',
      d: 'directory',
      'd/e': 'directory',
      'd/e/g': 'deep',
      stays: 'untouched',
    })
    expect(await aw.show('a')).toMatchObject({ generation: 1, operation: null, problem: null })
    expect(await aw.describe('a')).toMatchObject({ head: { id: first }, dirty: true, changes: 1 })
    await aw.restore('a', { snapshot: done.kept ?? '' })
    expect(await workOf(made)).toEqual(before)
  })

  it('a path that is one of several names of a file comes back as a file of its own, which is told', async () => {
    const { aw, folder } = await open()
    const twin = { kind: 'hardlink', to: 'f' } as const
    const from = { folder: folder({ f: { kind: 'file', content: 'first' }, g: twin, h: twin }) }
    const made = await aw.create({ id: 'a', from })
    await aw.snapshot('a', { label: 'first' })
    await made.files.append('work/alone', 'new')
    expect(await aw.restore('a', { paths: ['work/alone'] })).toMatchObject({ split: [] })
    expect(await aw.restore('a', { paths: ['work/g'] })).toMatchObject({ split: ['work/g'] })
    // They are copied one by one.
    const both = await aw.restore('a', { paths: ['work/h', 'work/f'] })
    expect(both.split.toSorted()).toEqual(['work/f', 'work/h'])
    expect(await aw.restore('a', { paths: ['work'] })).toMatchObject({ split: [] })
    expect(await aw.restore('a')).toMatchObject({ split: [] })
  })

  it('a path comes back whose directory is gone, and whatever its name is', async () => {
    const { aw, made } = await withSnapshot(open)
    const odd = ['work/ä ö/日本', 'work/-x', 'work/a"b\'c', 'work/ leading', 'work/emoji 🎉', 'work/d/e/.hidden']
    for (const path of odd) await made.files.write(path, path)
    await aw.snapshot('a', { label: 'odd' })
    for (const path of ['work/d', 'work/ä ö', ...odd.slice(1, 5)]) await made.files.remove(path, { recursive: true })
    const done = await aw.restore('a', { snapshot: 'odd', paths: [...odd, 'work/d/e/g'] })
    for (const path of odd) expect(await made.files.readText(path)).toBe(path)
    expect(await made.files.readText('work/d/e/g')).toBe('deep')
    expect(await aw.describe('a')).toMatchObject({ dirty: false })
    expect(done.changes).toEqual(expect.arrayContaining(odd))
  })

  it('the directories come back with it that a path needs, with their permissions, and are told', async () => {
    const { aw, folder } = await open()
    const source = folder({
      s: { kind: 'directory', mode: 0o700 },
      's/g': { kind: 'file', content: 'secret' },
      's/t': { kind: 'directory', mode: 0o750 },
      's/t/f': { kind: 'file', content: 'secret too' },
    })
    const made = await aw.create({ id: 'a', from: { folder: source } })
    await aw.snapshot('a', { label: 'closed' })
    await made.files.remove('work/s', { recursive: true })
    const done = await aw.restore('a', { snapshot: 'closed', paths: ['work/s/t/f', 'work/s/g'] })
    expect(done).toMatchObject({ added: 4, changes: ['work/s', 'work/s/g', 'work/s/t', 'work/s/t/f'] })
    const modes = ['work/s', 'work/s/t'].map(async (path) => (await made.files.stat(path)).mode)
    expect(await Promise.all(modes)).toEqual([0o700, 0o750])
    expect(await aw.describe('a')).toMatchObject({ dirty: false })
  })

  it('paths that cannot be meant are refused, and nothing has changed', async () => {
    const { aw, made } = await withSnapshot(open)
    await made.files.write('work/f', 'unsaved')
    const [before, history] = [await workOf(made), await aw.snapshots('a')]
    const refused: [string, Parameters<typeof code>[0]][] = [
      ['work/nowhere', 'file_not_found'],
      ['work/d/e/g/below', 'file_not_found'],
      ['.aw', 'path_protected'],
      ['.aw/context.json', 'path_protected'],
      ['../a', 'path_traversal_attempt'],
      ['work/../f', 'path_traversal_attempt'],
      ['/etc/passwd', 'absolute_path_not_allowed'],
      ['.', 'invalid_path'],
      ['', 'invalid_path'],
      ['work/a\0b', 'invalid_path_null_byte'],
    ]
    for (const [path, expected] of refused)
      await expect(aw.restore('a', { snapshot: 'first', paths: ['work/f', path] })).rejects.toEqual(code(expected))
    await expect(aw.restore('a', { snapshot: 'first', paths: [] })).rejects.toEqual(code('invalid_input'))
    expect(await workOf(made)).toEqual(before)
    expect(await aw.snapshots('a')).toEqual(history)
    expect((await made.files.list('.aw')).entries.map(({ path }) => path)).not.toContain('.aw/restoring')
  })

  it.each([
    ['a file', 'f'],
    ['a link out of the workspace', 'out'],
    ['a link to another directory', 'inside'],
  ])('a path whose directory is now %s is refused, and nothing has changed', async (_, taker) => {
    const { aw, folder } = await open()
    const source = folder({
      d: { kind: 'directory' },
      'd/g': { kind: 'file', content: 'deep' },
      e: { kind: 'directory' },
      'e/g': { kind: 'file', content: 'another' },
      f: { kind: 'file', content: 'file' },
      out: { kind: 'symlink', target: '/tmp' },
      inside: { kind: 'symlink', target: 'e' },
    })
    const made = await aw.create({ id: 'a', from: { folder: source } })
    await aw.snapshot('a', { label: 'first' })
    await made.files.remove('work/d', { recursive: true })
    await made.files.rename(`work/${taker}`, 'work/d')
    const before = await workOf(made)
    const blocked = aw.restore('a', { snapshot: 'first', paths: ['work/e/g', 'work/d/g'] })
    await expect(blocked).rejects.toEqual(code('not_a_directory', { path: 'work/d' }))
    const missing = aw.restore('a', { snapshot: 'first', paths: ['work/d/x'] })
    await expect(missing).rejects.toEqual(code('file_not_found', { path: 'work/d/x' }))
    expect(await workOf(made)).toEqual(before)
    expect(await aw.snapshots('a')).toHaveLength(1)
    await aw.restore('a', { snapshot: 'first', paths: ['work/d'] })
    expect(await made.files.readText('work/d/g')).toBe('deep')
    expect(await made.files.readText('work/e/g')).toBe('another')
  })

  it('a leased workspace is not restored unless that is named', async () => {
    const { aw, made } = await withSnapshot(open)
    await made.files.write('work/f', 'changed')
    await aw.lease.acquire('a', { holder: 'me' })
    await expect(aw.restore('a')).rejects.toEqual(code('workspace_active'))
    await expect(aw.restore('a', { paths: ['work/f'] })).rejects.toEqual(code('workspace_active'))
    await expect(aw.undo('a')).rejects.toEqual(code('workspace_active'))
    await expect(aw.redo('a')).rejects.toEqual(code('workspace_active'))
    expect(await made.files.readText('work/f')).toBe('changed')
    await aw.snapshot('a', { label: 'leased' })
    await aw.restore('a', { snapshot: 'first', include_leased: true })
    expect(await made.files.readText('work/f')).toBe('first')
    await aw.undo('a', { include_leased: true }).catch(() => undefined)
    await aw.restore('a', { snapshot: 'leased', force: true })
    expect(await made.files.readText('work/f')).toBe('changed')
  })
}
