import { expect, it } from 'vitest'
import { toAwError } from '../../../src/domain/errors.ts'
import { collect } from '../../support/collect.ts'
import { code, type OpenManager } from '../manager.ts'
import type { Tree } from '../../support/tree.ts'

const starter: Tree = {
  README: { kind: 'file', content: '# {{title}}, {{ license }}, {{other}}\n' },
  src: { kind: 'directory' },
  'src/main.ts': { kind: 'file', content: 'export {}\n' },
}

/** What workspaces are made from, and what is kept beside them. */
export function sourceContract(open: OpenManager): void {
  it('a workspace begins as one thing, and what belongs to another is refused', async () => {
    const { manager, folder } = await open()
    const path = folder(starter)
    const refused = [
      { id: 'x', from: { folder: path, workspace: 'y' } },
      { id: 'x', from: { folder: path }, repo: path },
      { id: 'x', ref: 'main' },
      { id: 'x', full: true },
      { id: 'x', at: 'head' },
      { id: 'x', exclude: ['a'] },
      { id: 'x', variables: { a: 'b' } },
      { id: 'x', variables: { a: 'b' }, from: { folder: path } },
      { id: 'x', template: 'a', from: { folder: path } },
      { id: 'x', template: 'a', from: 'empty' as const },
      { id: 'x', template: 'a', repo: path },
      { id: 'x', template: 'a', from: { template: 'b' } },
      { id: 'x', from: { template: 'a', folder: path } },
      { id: 'x', from: { template: 'a' }, from_workspace: 'y' },
      { id: 'x', from: { template: 'a', exclude: ['a'] } },
      { id: 'x', from: { folder: 'relative' } },
      { id: 'x', repo: '--upload-pack=evil' },
      { id: 'x', repo: 'https://example.com/a.git', ref: '-x' },
    ]
    for (const input of refused) await expect(manager.call('create', input)).rejects.toEqual(code('invalid_input'))
    expect(await manager.call('list', { all: true })).toEqual([])
    await expect(manager.call('create', { id: 'x', full: true, from: { folder: path } })).rejects.toMatchObject({
      message: 'full says something about a repository, and none was given',
      hint: 'It is given with --repo URL, which a path can be too. See: aw create --help',
    })
    await expect(manager.call('create', { id: 'x', variables: { a: 'b' } })).rejects.toMatchObject({
      message: 'variables say something about a template, and none was given',
      data: { field: 'variables' },
    })
    await expect(manager.call('create', { id: 'x', repo: path, from: { folder: path } })).rejects.toMatchObject({
      message: 'A workspace begins as one thing, not as a repository and a folder',
    })
  })

  it('a folder begins as it is now, again and again', async () => {
    const { manager, folder } = await open()
    const from = { folder: folder(starter) }
    const [one, two] = [
      await manager.call('create', { id: 'one', from }),
      await manager.call('create', { id: 'two', from }),
    ]
    // What was written an instant ago may be more by now: then it is copied once more, into a base of its own.
    const apart = { ...one.source, base: expect.anything() as unknown }
    const same = one.base === null ? one.source : apart
    expect(two.source).toEqual(same)
    expect(one).toMatchObject({ base: one.source['base'], imported: { files: 2 } })
    for (const id of ['one', 'two'])
      expect(text(await manager.call('fs read', { id, path: 'work/src/main.ts' }))).toBe('export {}\n')
    await manager.call('fs write', { id: 'one', path: 'work/src/main.ts', content: 'changed' })
    expect(text(await manager.call('fs read', { id: 'two', path: 'work/src/main.ts' }))).toBe('export {}\n')
    const reset = await manager.call('reset', { id: 'one' })
    expect(text(await manager.call('fs read', { id: 'one', path: 'work/src/main.ts' }))).toBe('export {}\n')
    expect(reset.source).toEqual(same)
  })

  it('a base is listed with who began as it, and stays for them', async () => {
    const { manager, folder } = await open()
    const made = await manager.call('template create', { name: 'page', from: { folder: folder(starter) } })
    await manager.call('create', { id: 'one', template: 'page' })
    const bases = await manager.call('bases list', { sizes: true })
    expect(bases).toMatchObject([{ name: made.base, profile: 'aw', used_by: ['one/main'] }])
    await expect(manager.call('bases remove', { name: made.base, force: true })).rejects.toEqual(code('base_in_use'))
    await expect(manager.call('bases remove', { name: 'none-such-base' })).rejects.toEqual(code('base_not_found'))
    await manager.call('template remove', { name: 'page' })
    await expect(manager.call('bases remove', { name: made.base })).rejects.toEqual(code('base_in_use'))
    expect(await manager.call('bases remove', { name: made.base, force: true })).toEqual({ removed: made.base })
    expect(await manager.call('bases list', {})).toEqual([])
    expect((await manager.call('recover', {})).orphans).toEqual([])
  })

  it('where the settings name a template, a workspace begins as that unless something else is asked for', async () => {
    const { manager, folder } = await open({ 'workspaces.template': 'page' })
    const setting = expect.stringContaining('workspaces.template is page') as string
    const refused = { code: 'template_not_found', hint: setting }
    await expect(manager.call('create', { id: 'early' })).rejects.toMatchObject(refused)
    expect(await manager.call('list', { all: true })).toEqual([])

    const from = { folder: folder(starter) }
    await manager.call('template create', { name: 'page', from, variables: { title: '' } })
    await expect(manager.call('create', { id: 'made' })).rejects.toMatchObject({ code: 'invalid_input', hint: setting })
    const variables = { title: 'Prices' }
    const made = await manager.call('create', { id: 'made', variables })
    expect(made.source).toMatchObject({ kind: 'template', name: 'page', version: 1 })
    await manager.call('template update', { name: 'page', variables: { title: 'Newer' } })
    expect((await manager.call('ensure', { id: 'newest' })).source).toMatchObject({ name: 'page', version: 2 })
    const [started] = await collect(manager.stream('run', { id: 'ran', argv: ['true'] }))
    expect(started?.notes?.join(' ') ?? '').not.toContain('began empty')
    expect((await manager.call('show', { id: 'ran' })).source).toMatchObject({ name: 'page', version: 2 })

    expect((await manager.call('create', { id: 'empty', from: 'empty' })).source).toEqual({ kind: 'empty' })
    expect((await manager.call('create', { id: 'folder', from })).source).toMatchObject({ kind: 'folder' })
    await expect(manager.call('create', { id: 'other', profile: 'ipa' })).rejects.toMatchObject({
      code: 'invalid_input',
      hint: expect.stringContaining('--from empty') as string,
    })
  })

  it('the version of that template may be named too', async () => {
    const { manager, folder } = await open({ 'workspaces.template': 'page@1' })
    const from = { folder: folder(starter) }
    await manager.call('template create', { name: 'page', from })
    await manager.call('template update', { name: 'page', from })
    expect((await manager.call('create', { id: 'made' })).source).toMatchObject({ name: 'page', version: 1 })
    await manager.call('template remove', { name: 'page@1' })
    await expect(manager.call('create', { id: 'late' })).rejects.toMatchObject({
      code: 'template_not_found',
      message: 'page has no version 1',
    })
  })

  it('a template is filled in, has versions, and goes when nobody needs it', async () => {
    const { manager, folder } = await open()
    const from = { folder: folder(starter) }
    const variables = { title: '', license: 'MIT' }
    const first = await manager.call('template create', { name: 'page', from, variables, description: 'a page' })
    expect(first).toMatchObject({ version: 1, files: ['work/README'], variables: { title: null, license: 'MIT' } })
    await expect(manager.call('template create', { name: 'page', from })).rejects.toEqual(code('template_exists'))
    await expect(manager.call('template create', { name: 'Page/x', from })).rejects.toEqual(code('invalid_name'))
    await expect(manager.call('template create', { name: 'empty' })).rejects.toEqual(code('invalid_input'))
    await expect(manager.call('template update', { name: 'none', from })).rejects.toEqual(code('template_not_found'))
    await expect(manager.call('create', { id: 'x', template: 'page' })).rejects.toEqual(code('invalid_input'))

    const values = { title: 'Prices' }
    const made = await manager.call('create', { id: 'made', template: 'page', variables: values })
    expect(made.source).toMatchObject({ kind: 'template', name: 'page', version: 1, base: first.base })
    const same = await manager.call('ensure', { id: 'same', from: { template: 'page@1' }, variables: values })
    expect(same.source).toEqual(made.source)
    await manager.call('purge', { id: (await manager.call('destroy', { id: 'same' })).workspace?.id ?? '' })
    await expect(manager.call('create', { id: 'x', from: { template: 'none' } })).rejects.toEqual(
      code('template_not_found'),
    )
    expect(text(await manager.call('fs read', { id: 'made', path: 'work/README' }))).toBe('# Prices, MIT, {{other}}\n')
    const second = await manager.call('template update', { name: 'page', from: { workspace: 'made' } })
    expect(second).toMatchObject({ version: 2, versions: [1, 2], description: 'a page', files: [] })
    expect(await manager.call('template list', {})).toMatchObject([{ name: 'page', version: 2 }])
    expect(await manager.call('template show', { name: 'page@1' })).toMatchObject({ version: 1 })
    await expect(manager.call('template show', { name: 'page@3' })).rejects.toEqual(code('template_not_found'))
    expect(await manager.call('template remove', { name: 'page@2' })).toEqual({ removed: [2] })
    expect(await manager.call('template remove', { name: 'page' })).toEqual({ removed: [1] })
    await expect(manager.call('template remove', { name: 'page' })).rejects.toEqual(code('template_not_found'))
  })

  it('a template is named, and nothing else; its versions are changed one at a time', async () => {
    const { manager, folder } = await open()
    const from = { folder: folder(starter) }
    await manager.call('template create', { name: 'page', from })
    for (const name of ['none@1', '@1', 'x'.repeat(300)]) {
      await expect(manager.call('template remove', { name })).rejects.toEqual(code('template_not_found'))
      await expect(manager.call('template update', { name, from })).rejects.toEqual(code('template_not_found'))
    }
    const updates = ['page', 'page@1', 'page', 'page@1'].map((name) => manager.call('template update', { name, from }))
    await Promise.all(updates)
    expect(await manager.call('template show', { name: 'page' })).toMatchObject({ versions: [1, 2, 3, 4, 5] })
  })

  it('a shared area outlives what uses it and goes to the trash', async () => {
    const { manager } = await open()
    const made = await manager.call('shared create', { name: 'models', task: 'a' })
    expect(await manager.call('shared list', {})).toMatchObject([{ name: 'models', task: 'a', path: made.path }])
    await expect(manager.call('shared create', { name: 'models' })).rejects.toEqual(code('shared_exists'))
    await expect(manager.call('shared create', { name: '../x' })).rejects.toEqual(code('invalid_name'))
    expect(await manager.call('recover', {})).toMatchObject({ orphans: [], lost: [] })
    expect(await manager.call('shared remove', { name: 'models' })).toMatchObject({ removed: true })
    await expect(manager.call('shared remove', { name: 'models' })).rejects.toEqual(code('shared_not_found'))
    await manager.call('shared create', { name: 'models' })
    expect(await manager.call('shared remove', { name: 'models', purge: true })).toEqual({ removed: true, trash: null })
    expect(await manager.call('shared list', {})).toEqual([])
  })

  it('a shared area stays as long as a sandbox has it', async () => {
    const { manager } = await open()
    await manager.call('shared create', { name: 'models' })
    await manager.call('create', { id: 'a' })
    await manager.call('start', { id: 'a', shared: ['models'] })
    for (const purge of [false, true])
      await expect(manager.call('shared remove', { name: 'models', purge })).rejects.toEqual(code('workspace_active'))
    await manager.call('stop', { id: 'a' })
    expect(await manager.call('shared remove', { name: 'models' })).toMatchObject({ removed: true })
  })

  it('a shared area comes back from the trash, perhaps under another name', async () => {
    const { manager } = await open()
    await manager.call('shared create', { name: 'models', task: 'a' })
    const [made] = await manager.call('shared list', {})
    const { trash } = await manager.call('shared remove', { name: 'models' })
    await manager.call('shared create', { name: 'models' })
    expect(await manager.call('shared list', { trashed: true, sizes: true })).toMatchObject([
      { name: 'models', task: 'a', path: null, trash, bytes: 0 },
    ])
    await expect(manager.call('shared undelete', { trash: 'models' })).rejects.toEqual(code('shared_exists'))
    await expect(manager.call('shared undelete', { trash: 'none' })).rejects.toEqual(code('shared_not_found'))
    await expect(manager.call('shared undelete', { trash: 'models', as: '../x' })).rejects.toEqual(code('invalid_name'))
    const back = await manager.call('shared undelete', { trash: trash ?? '', as: 'older' })
    expect(back).toMatchObject({ name: 'older', task: 'a', created_at: made?.created_at })
    expect((await manager.call('shared list', {})).map(({ name }) => name)).toEqual(['models', 'older'])
    expect(await manager.call('shared list', { trashed: true })).toEqual([])
    expect(await manager.call('recover', {})).toMatchObject({ orphans: [], lost: [] })
    await expect(manager.call('shared undelete', { trash: trash ?? '' })).rejects.toEqual(code('shared_not_found'))
    expect(await manager.call('shared remove', { name: 'older', purge: true })).toEqual({ removed: true, trash: null })
  })

  it('a shared area is for a task that can be', async () => {
    const { manager } = await open()
    for (const task of ['a/b', '', '-x', 'a b'])
      await expect(manager.call('shared create', { name: 'models', task })).rejects.toEqual(code('invalid_name'))
  })

  it('files of the machine go in and come out, where there is a machine', async () => {
    const { manager, folder } = await open()
    const path = folder(starter)
    await manager.call('create', { id: 'one' })
    await manager.call('create', { id: 'three' })
    await manager.call('fs write', { id: 'three', path: 'work/result', content: 'done' })
    const file = `${path}.aw`
    const done = await Promise.all(
      [
        manager.call('cp', { from: path, to: 'one:work/copy' }),
        manager.call('export', { of: 'one', file }).then(() => manager.call('import', { file, id: 'two' })),
        manager.call('import', { file: `${path}/none` }).catch((error: unknown) => toAwError(error)),
        manager.call('export', { of: 'three', patch: true }).then((made) => {
          if (made.format !== 'patch' || made.files !== 1) throw new Error('It is no patch of one file')
          return made
        }),
      ].map((call) =>
        call.then(
          () => 'done',
          (error: unknown) => toAwError(error).code,
        ),
      ),
    )
    expect([
      ['done', 'done', 'done', 'done'],
      ['unsupported', 'unsupported', 'done', 'unsupported'],
    ]).toContainEqual(done)
    await expect(manager.call('cp', { from: path, to: path })).rejects.toEqual(code('invalid_input'))
    for (const wrong of [{}, { patch: true, bundle: file }, { branch: 'x' }, { branch: 'x', repo: path, file }])
      await expect(manager.call('export', { of: 'one', ...wrong })).rejects.toEqual(code('invalid_input'))
  })
}

const text = (bytes: Uint8Array | string): string => Buffer.from(bytes as Uint8Array).toString()
