import { expect, it } from 'vitest'
import type { Inputs, Outputs } from '../../../src/api/table.ts'
import type { Workspace } from '../../../src/client/workspace.ts'
import { collect } from '../../support/collect.ts'
import { code, forkOf, type OpenManager, type Opened } from '../manager.ts'
import { bytesOf } from '../../support/tree.ts'
import { unknownSnapshot } from './snapshots.ts'

type Change = Outputs['diff']

const diff = ({ manager }: Pick<Opened, 'manager'>, input: Inputs['diff']): Promise<Change[]> =>
  collect(manager.stream('diff', input))

const told = (changes: readonly Change[]): string[] => changes.map(({ path, change }) => `${change} ${path}`)

async function withChanges(open: OpenManager): Promise<Opened & { made: Workspace; first: string; start: string }> {
  const opened = await open()
  const { aw, folder } = opened
  const source = folder({
    kept: { kind: 'file', content: 'kept' },
    changed: { kind: 'file', content: 'one\ntwo\nthree\n' },
    removed: { kind: 'file', content: 'gone\n' },
    link: { kind: 'symlink', target: 'kept' },
    d: { kind: 'directory' },
    'd/f': { kind: 'file', content: 'f' },
  })
  const made = await aw.create({ id: 'a', from: { folder: source } })
  const { id: first } = await aw.snapshot('a', { label: 'tests @ pass' })
  await made.files.write('work/changed', 'one\n2\nthree\n')
  await made.files.remove('work/removed')
  await made.files.write('work/added', 'no newline')
  await made.files.write('work/d/g', 'g\n')
  return { ...opened, made, first, start: 'a' }
}

export function diffContract(open: OpenManager): void {
  const changes = ['added work/added', 'changed work/changed', 'added work/d/g', 'removed work/removed']

  it('what a template had filled in is what a workspace began as', async () => {
    const opened = await open()
    const { aw, manager, folder } = opened
    const page = '# {{title}}\n\nHello\n'
    const from = {
      folder: folder({
        [bytesOf('Größe.md')]: { kind: 'file', content: page },
        gone: { kind: 'file', content: page },
        other: { kind: 'file', content: 'other\n' },
      }),
    }
    await aw.template.create({ name: 'page', from, variables: { title: '' } })
    const made = await aw.create({ id: 'a', template: 'page', variables: { title: 'Prices' } })
    expect(await diff(opened, { from: 'a' })).toEqual([])
    expect(await diff(opened, { from: 'a@base', to: 'a' })).toEqual([])
    expect(await diff(opened, { from: 'a', to: 'a@base' })).toEqual([])
    const { id: began } = await aw.snapshot('a')

    await made.files.write('work/Größe.md', '# Prices\n\nGood day\n')
    await made.files.remove('work/gone')
    await aw.template.remove({ name: 'page' })
    const since = await diff(opened, { from: 'a', text: true })
    expect(since).toEqual(await diff(opened, { from: `a@${began}`, text: true }))
    expect(told(since)).toEqual(['changed work/Größe.md', 'removed work/gone'])
    expect(since[0]).toMatchObject({ before: { size: 16 }, what: ['content'] })
    expect(since[0]?.text).toContain(' # Prices\n \n-Hello\n+Good day\n')
    expect(since[1]?.text).toContain('-# Prices\n-\n-Hello\n')
    const back = await diff(opened, { from: 'a', to: 'a@base', text: true })
    expect(back[0]?.text).toContain(' # Prices\n \n-Good day\n+Hello\n')
    // Larger than what is read to be compared.
    await made.files.write('work/Größe.md', 'x'.repeat(2 ** 20 + 1))
    expect((await diff(opened, { from: 'a' }))[0]).toMatchObject({ before: { size: 16 }, after: { size: 2 ** 20 + 1 } })
    await manager.call('reset', { id: 'a' })
    expect(await diff(opened, { from: 'a' })).toEqual([])
  })

  it('tells what changed since the beginning, or since a snapshot, however that is named', async () => {
    const subject = await withChanges(open)
    const { aw, made, first, start } = subject
    const sides: Inputs['diff'][] = [
      { from: start },
      { from: made.id },
      { from: first },
      { from: first.slice(0, 20) },
      { from: 'a@tests @ pass' },
      { from: 'a/main@head', to: 'a' },
      { from: `a@${first}`, to: made.id },
      { from: first, to: 'a/main' },
    ]
    for (const input of sides) expect([input, told(await diff(subject, input))]).toEqual([input, changes])
    await aw.snapshot('a')
    expect(told(await diff(subject, { from: start }))).toEqual(changes)
    expect(await diff(subject, { from: 'a@head' })).toEqual([])
    expect(told(await diff(subject, { from: first, to: 'a@head' }))).toEqual(changes)
    expect(told(await diff(subject, { from: 'a', to: first }))).toEqual([
      'removed work/added',
      'changed work/changed',
      'removed work/d/g',
      'added work/removed',
    ])
  })

  it('compares workspaces, and a fork with what it began as', async () => {
    const subject = await withChanges(open)
    const { aw, made, first } = subject
    await forkOf(aw, 'a', { to: ['b'], at: first })
    const fork = await aw.get('b')
    await fork.files.write('work/kept', 'changed in the fork')
    expect(told(await diff(subject, { from: 'b@base', to: 'b' }))).toEqual(['changed work/kept'])
    expect(told(await diff(subject, { from: 'b' }))).toEqual(['changed work/kept'])
    expect(told(await diff(subject, { from: 'b', to: 'a' }))).toEqual([
      ...changes.slice(0, 3),
      'changed work/kept',
      'removed work/removed',
    ])
    expect(await diff(subject, { from: 'a', to: made.id })).toEqual([])
  })

  it('what began empty is compared with that, with or without a snapshot', async () => {
    const subject = await open()
    const { aw } = subject
    for (const profile of ['aw', 'repo']) {
      const { files } = await aw.create({ id: profile, profile })
      expect(await diff(subject, { from: profile })).toEqual([])
      await files.write('work/new', 'one\n')
      const changes = [...(profile === 'repo' ? ['added work'] : []), 'added work/new']
      expect(told(await diff(subject, { from: profile }))).toEqual(changes)
      expect(await diff(subject, { from: profile, stat: true, paths: ['work/new'] })).toMatchObject([
        { path: 'work/new', lines: { added: 1, removed: 0 } },
      ])
      await aw.snapshot(profile)
      expect(told(await diff(subject, { from: profile }))).toEqual(changes)
    }
  })

  it('what a workspace from a folder began as is known, and no later snapshot is taken for it', async () => {
    const subject = await open()
    const { aw, folder } = subject
    const source = folder({ f: { kind: 'file', content: 'one\n' }, g: { kind: 'file', content: 'g' } })
    const { files, base } = await aw.create({ id: 'a', from: { folder: source } })
    expect(await diff(subject, { from: 'a' })).toEqual([])
    expect(await aw.describe('a')).toMatchObject({ head: null, dirty: true, changes: 0 })
    await files.write('work/f', 'two\n')
    await files.write('work/new', 'new\n')
    await files.remove('work/g')
    expect(await aw.describe('a')).toMatchObject({ head: null, changes: 3 })
    await aw.snapshot('a')
    const changes = ['changed work/f', 'removed work/g', 'added work/new']
    for (const input of [{ from: 'a' }, { from: 'a@base' }, { from: 'a@base', to: 'a@head' }]) {
      const since = await diff(subject, { ...input, text: true })
      expect([input, told(since)]).toEqual([input, changes])
      expect(since[0]?.text).toContain('\n-one\n+two\n')
    }
    expect(await aw.bases.list({})).toEqual(base === null ? [] : [expect.objectContaining({ name: base })])
    await aw.destroy('a')
    expect(told(await diff(subject, { from: (await aw.undelete('a')).id }))).toEqual(changes)
  })

  it('tells what is different: content, mode, kind, target', async () => {
    const { aw, manager, folder } = await open()
    const source = folder({
      mode: { kind: 'file', content: '', mode: 0o644 },
      kind: { kind: 'file', content: '' },
      target: { kind: 'symlink', target: 'one' },
      content: { kind: 'file', content: 'one' },
    })
    const other = folder({
      mode: { kind: 'file', content: '', mode: 0o755 },
      kind: { kind: 'directory' },
      target: { kind: 'symlink', target: 'two' },
      content: { kind: 'file', content: 'two' },
    })
    await aw.create({ id: 'a', from: { folder: source } })
    await aw.create({ id: 'b', from: { folder: other } })
    const found = await diff({ manager }, { from: 'a', to: 'b', text: true })
    expect(found.map(({ path, change, what }) => [path, change, what])).toEqual([
      ['work/content', 'changed', ['content']],
      ['work/kind', 'changed', ['kind']],
      ['work/mode', 'changed', ['mode']],
      ['work/target', 'changed', ['target']],
    ])
    expect(found[3]).toMatchObject({ before: { target: 'one' }, after: { target: 'two' } })
    expect(found[3]?.text).toContain('\n-one\n\\ No newline at end of file\n+two\n')
    expect(found[2]?.text).toMatch(/\nold mode 100644\nnew mode 100755\n$/)
    expect(found[1]?.text).toMatch(/\ndeleted file mode 100644\n$/)
    expect(found[2]).toMatchObject({ before: { kind: 'file', mode: 0o644 }, after: { mode: 0o755 }, from: null })
  })

  it('tells texts as a unified diff, and why it leaves some out', async () => {
    const subject = await withChanges(open)
    const { made, start } = subject
    await made.files.write('work/binary', Buffer.from([0, 1, 2]))
    await made.files.write('work/large', 'x'.repeat(2000))
    const found = await diff(subject, { from: start, text: true, max_bytes: 1000 })
    const of = (path: string): Change | undefined => found.find((one) => one.path === `work/${path}`)
    expect(of('changed')?.text).toBe(
      'diff --git a/work/changed b/work/changed\n--- a/work/changed\n+++ b/work/changed\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
    )
    const stat = await diff(subject, { from: start, stat: true })
    expect(stat.find(({ path }) => path === 'work/changed')).toMatchObject({ lines: { added: 1, removed: 1 } })
    expect(stat.some(({ text }) => text !== undefined)).toBe(false)
    expect(of('added')?.text).toBe(
      'diff --git a/work/added b/work/added\nnew file mode 100644\n--- /dev/null\n+++ b/work/added\n@@ -0,0 +1 @@\n+no newline\n\\ No newline at end of file\n',
    )
    expect(of('removed')?.text).toBe(
      'diff --git a/work/removed b/work/removed\ndeleted file mode 100644\n--- a/work/removed\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n',
    )
    expect(of('binary')).toMatchObject({ binary: true, after: { kind: 'file', size: 3 } })
    expect(of('binary')?.text).toBeUndefined()
    expect(of('large')).toMatchObject({ omitted: expect.stringMatching(/./) as unknown })
    expect(of('large')?.text).toBeUndefined()
    for (const one of await diff(subject, { from: start }))
      expect([one.text, one.binary]).toEqual([undefined, undefined])
  })

  it('a renamed file is told as one, or as gone and come, and its text in either case', async () => {
    const subject = await withChanges(open)
    await subject.aw.snapshot('a')
    await subject.made.files.rename('work/kept', 'work/d/moved')
    const found = await diff(subject, { from: 'a@head', text: true })
    const [first] = found
    const told = found.map(({ path, change, from }) => [path, change, from])
    if (first?.change === 'renamed') expect(told).toEqual([['work/d/moved', 'renamed', 'work/kept']])
    else {
      expect(told).toEqual([
        ['work/d/moved', 'added', null],
        ['work/kept', 'removed', null],
      ])
      expect(first?.text).toContain('+kept')
    }
    expect(await subject.aw.describe('a')).toMatchObject({ changes: 2 })
    for (const path of ['work/kept', 'work/d'])
      expect((await diff(subject, { from: 'a@head', paths: [path] })).map(({ change }) => change)).toHaveLength(1)
  })

  it('keeps to paths and to a limit', async () => {
    const subject = await withChanges(open)
    const below = async (...paths: string[]): Promise<string[]> =>
      told(await diff(subject, { from: subject.start, paths }))
    expect(await below('work/d')).toEqual(['added work/d/g'])
    expect(await below('work/d/', './work/changed')).toEqual(['changed work/changed', 'added work/d/g'])
    expect(await below('work')).toEqual(changes)
    await expect(below('wor')).rejects.toEqual(code('file_not_found'))
    const hint = expect.objectContaining({ hint: 'Did you mean work/d/f?' }) as Error
    await expect(below('work/d', 'd/f')).rejects.toEqual(hint)
    expect(await below('work/kept')).toEqual([])
    await expect(below('../x')).rejects.toEqual(code('path_traversal_attempt'))
    await expect(below('/etc')).rejects.toEqual(code('absolute_path_not_allowed'))
    expect(told(await diff(subject, { from: subject.start, limit: 2 }))).toEqual(changes.slice(0, 2))
    expect(told(await diff(subject, { from: subject.start, limit: 1, paths: ['work/d'] }))).toEqual(['added work/d/g'])
  })

  it('names are told as text, whatever they are', async () => {
    const { aw, manager } = await open()
    const made = await aw.create({ id: 'a' })
    await aw.snapshot('a')
    await made.files.write('work/ä 🎉', 'x\n')
    const [change] = await diff({ manager }, { from: 'a', text: true, paths: ['work/ä 🎉'] })
    expect(change).toMatchObject({ path: 'work/ä 🎉', change: 'added' })
    expect(change?.text).toContain(String.raw`+++ "b/work/\303\244 \360\237\216\211"`)
  })

  it('refuses sides that are none', async () => {
    const subject = await withChanges(open)
    const { aw } = subject
    const { id } = await aw.create({ id: 'bare' })
    const wrong: (readonly [string, Parameters<typeof code>[0]])[] = [
      ['missing', 'workspace_not_found'],
      ['missing@head', 'workspace_not_found'],
      ['a@nothing', 'snapshot_not_found'],
      ['a@', 'snapshot_not_found'],
      ['bare@base', 'snapshot_not_found'],
      [unknownSnapshot, 'snapshot_not_found'],
      ['snap_zzz', 'snapshot_not_found'],
      [`bare@${subject.first}`, 'snapshot_not_found'],
    ]
    for (const [from, expected] of wrong) await expect(diff(subject, { from })).rejects.toEqual(code(expected))
    await aw.destroy('bare')
    await expect(diff(subject, { from: id, to: 'a' })).rejects.toEqual(code('invalid_state'))
    await aw.destroy('a')
    await expect(diff(subject, { from: subject.first })).rejects.toEqual(code('invalid_state'))
    expect(await diff(subject, { from: subject.first, to: subject.first })).toEqual([])
  })
}
