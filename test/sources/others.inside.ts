import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { openAw } from '../../src/index.ts'
import { readTree } from '../../src/testing/tree.ts'
import { codeOf, commit, contentOf, git, hasBases, makeRepository, namesIn, openGround } from './open.ts'

const settled = (): Promise<void> => sleep(100)

it('a folder comes with all that is in it; of one that changed only the changes are copied', async () => {
  const ground = await openGround()
  const { aw } = ground
  const folder = makeRepository(ground)
  fs.writeFileSync(join(folder, '.gitignore'), 'ignored\n')
  fs.writeFileSync(join(folder, 'ignored'), 'carried along')
  // What was written an instant ago is not known to be all, and would be copied again.
  await settled()
  const one = await aw.create({ id: 'one', from: { folder } })
  expect(contentOf(one, 'ignored')).toBe('carried along')
  const two = await aw.create({ id: 'two', from: { folder } })
  expect(two.base).toBe(one.base)
  fs.writeFileSync(join(folder, 'README'), 'new')
  fs.rmSync(join(folder, 'ignored'))
  const three = await aw.create({ id: 'three', from: { folder } })
  expect(readTree(join(three.path, 'work'), { times: true })).toEqual(readTree(folder, { times: true }))
  expect(three.base === null).toBe(!hasBases)
  expect(contentOf(one, 'ignored')).toBe('carried along')
  if (hasBases) expect((await aw.bases.list()).map(({ used_by }) => used_by.length)).toEqual([2, 1])
  const some = await aw.create({ id: 'some', from: { folder, exclude: ['src', '.git'] } })
  expect(namesIn(some)).toEqual(['.gitignore', 'README'])
})

it('a file that git tracks although it is ignored comes along, also of a linked work tree', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const repository = makeRepository(ground)
  fs.writeFileSync(join(repository, '.gitignore'), 'built\n')
  fs.mkdirSync(join(repository, 'built'))
  fs.writeFileSync(join(repository, 'built/tracked'), '')
  git(repository, 'add', '--force', '.')
  git(repository, 'commit', '--quiet', '--message', 'built')
  const linked = join(base, 'linked')
  git(repository, 'worktree', 'add', '--quiet', linked)
  for (const folder of [repository, linked]) {
    fs.writeFileSync(join(folder, 'built/ignored'), '')
    const { id, path } = await aw.create({ generate: 'one', from: { folder, ignored: 'none' } })
    expect(fs.readdirSync(join(path, 'work/built'))).toEqual(['tracked'])
    // It is no longer tracked, so the next one is without.
    git(folder, 'rm', '--quiet', '--cached', 'built/tracked')
    expect(namesIn(await aw.create({ generate: 'two', from: { folder, ignored: 'none' } }))).not.toContain('built')
    await aw.reset(id)
    expect(namesIn({ path })).not.toContain('built')
  }
})

it('what git does in a copy of a linked work tree, or of one that shares objects, is not done to the repository', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const repository = makeRepository(ground)
  const linked = join(base, 'linked')
  git(repository, 'worktree', 'add', '--quiet', linked, '-b', 'lw')
  git(linked, '-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', repository, 'module')
  git(linked, 'commit', '--quiet', '--message', 'module')
  const told = (): string => `${git(repository, 'show-ref')} ${git(linked, 'ls-files', '--stage')}`
  const before = told()
  await settled()
  const from = { folder: linked }
  const skipped_paths = ['.git', 'module/.git'].map((path) => ({ path, reason: 'foreign_git' }))
  await aw.template.create({ name: 'linked', from })
  for (const made of [
    await aw.create({ id: 'one', from }),
    await aw.create({ id: 'two', from }),
    await aw.reset('two'),
    await aw.create({ id: 'three', template: 'linked' }),
  ]) {
    if (made.source['kind'] === 'folder') expect(made.imported).toMatchObject({ skipped: 2, skipped_paths })
    expect(namesIn(made)).toEqual(['.gitmodules', 'README', 'module', 'src'])
    for (const place of ['work', 'work/module'])
      expect(() => git(join(made.path, place), 'rev-parse', '--git-dir')).toThrow('not a git repository')
  }
  expect(told()).toBe(before)

  await aw.create({ id: 'copied' })
  expect((await aw.cp({ from: linked, to: 'copied:work/linked' })).skipped).toEqual(skipped_paths)

  const shared = join(base, 'shared')
  git(base, 'clone', '--quiet', '--shared', repository, shared)
  const borrowing = await aw.create({ id: 'shared', from: { folder: shared } })
  expect(borrowing.imported).toMatchObject({ skipped: 0, borrows: [join(repository, '.git/objects')] })
  commit(join(borrowing.path, 'work'), 'README', 'changed\n')
  expect(told()).toBe(before)
})

it('a repository that works on other files is told', async () => {
  const ground = await openGround()
  const folder = makeRepository(ground)
  const own = await ground.aw.create({ id: 'own', from: { folder } })
  expect(own.imported).not.toHaveProperty('work_tree')
  git(folder, 'config', 'core.worktree', '..')
  const beside = await ground.aw.create({ id: 'beside', from: { folder } })
  expect(beside.imported).not.toHaveProperty('work_tree')
  git(folder, 'config', 'core.worktree', folder)
  const other = await ground.aw.create({ id: 'other', from: { folder } })
  expect(other.imported).toMatchObject({ work_tree: folder })
  expect(git(join(other.path, 'work'), 'rev-parse', '--show-toplevel').trim()).toBe(folder)
})

it('a submodule comes along with its repository', async () => {
  const ground = await openGround()
  const folder = makeRepository(ground)
  const other = makeRepository(ground, 'other')
  git(folder, '-c', 'protocol.file.allow=always', 'submodule', 'add', '--quiet', other, 'module')
  const made = await ground.aw.create({ id: 'one', from: { folder } })
  expect(made.imported).toMatchObject({ skipped: 0 })
  const gitDirectory = git(join(made.path, 'work/module'), 'rev-parse', '--git-common-dir')
  expect(fs.realpathSync.native(gitDirectory)).toContain(made.id)
  commit(join(made.path, 'work/module'), 'README', 'changed\n')
  expect(git(other, 'status', '--porcelain')).toBe('')
})

it('a workspace begins as another is, or was', async () => {
  const { aw } = await openGround()
  const origin = await aw.create({ id: 'origin' })
  fs.writeFileSync(join(origin.path, 'work', 'state'), 'first')
  const { id: snapshot } = await aw.snapshot('origin', { label: 'first' })
  fs.writeFileSync(join(origin.path, 'work', 'state'), 'second')
  const now = await aw.create({ id: 'now', from_workspace: 'origin' })
  const then = await aw.create({ id: 'then', from: { workspace: 'origin', at: 'first' } })
  const exact = await aw.create({ id: 'exact', from: { snapshot } })
  expect([now, then, exact].map((one) => contentOf(one, 'state'))).toEqual(['second', 'first', 'first'])
  expect(await codeOf(aw.create({ id: 'x', from_workspace: 'origin', profile: 'repo' }))).toBe('invalid_input')
})

it('a template is filled in, has versions, and outlives what it was made from', async () => {
  const { aw, base } = await openGround()
  const starter = join(base, 'starter')
  fs.mkdirSync(starter)
  fs.writeFileSync(join(starter, 'README'), '# {{title}} by {{ author }}, not {{other}}\n')
  const plain = Buffer.from('\xff{{\0{{title}}', 'latin1')
  fs.writeFileSync(join(starter, 'plain'), plain)
  const made = await aw.template.create({
    name: 'page',
    from: { folder: starter },
    variables: { title: '', author: 'Ann' },
  })
  expect(made).toMatchObject({ version: 1, variables: { title: null, author: 'Ann' }, files: ['work/README'] })
  expect(await codeOf(aw.template.create({ name: 'page', from: { folder: starter } }))).toBe('template_exists')
  expect(await codeOf(aw.create({ id: 'x', template: 'page' }))).toBe('invalid_input')
  for (const name of ['/../../../out', '../page', 'page\0'])
    for (const call of [aw.template.remove({ name }), aw.template.update({ name, from: { folder: starter } })])
      expect(await codeOf(call)).toBe('template_not_found')
  expect(fs.readdirSync(base).toSorted()).toEqual(['home', 'starter'])
  expect(await codeOf(aw.create({ id: 'x', template: 'page', variables: { title: 'a', wrong: 'b' } }))).toBe(
    'invalid_input',
  )
  expect(await codeOf(aw.create({ id: 'x', template: 'pages' }))).toBe('template_not_found')

  const first = await aw.create({ id: 'first', template: 'page', variables: { title: 'Prices & $1' } })
  expect(contentOf(first, 'README')).toBe('# Prices & $1 by Ann, not {{other}}\n')
  expect(fs.readFileSync(join(first.path, 'work', 'plain'))).toEqual(plain)
  fs.writeFileSync(join(starter, 'README'), 'second {{title}}\n')
  expect(await aw.template.update({ name: 'page', from: { folder: starter } })).toMatchObject({
    version: 2,
    versions: [1, 2],
  })
  fs.rmSync(starter, { recursive: true })
  const [newest, older] = [
    await aw.create({ id: 'newest', template: 'page', variables: { title: 'x' } }),
    await aw.create({ id: 'older', template: 'page@1', variables: { title: 'x', author: 'Bo' } }),
  ]
  expect([newest, older].map((one) => contentOf(one, 'README'))).toEqual(['second x\n', '# x by Bo, not {{other}}\n'])

  fs.rmSync(join(first.path, 'work', 'README'))
  expect(await codeOf(aw.bases.remove({ name: made.base, force: true }))).toBe('base_in_use')
  expect(await aw.template.remove({ name: 'page' })).toEqual({ removed: [1, 2] })
  // It is what two workspaces began as, and can be again.
  expect(contentOf(await aw.reset('first'), 'README')).toBe('# Prices & $1 by Ann, not {{other}}\n')
  expect(await aw.template.list()).toEqual([])
})

it('a template of a workspace holds its work, and nothing that aw put there', async () => {
  const { aw } = await openGround()
  const origin = await aw.create({ id: 'origin', config: { context: { secret: 'of the origin' } } })
  fs.writeFileSync(join(origin.path, 'work', 'tool'), '#!/bin/sh\n', { mode: 0o755 })
  await aw.template.create({ name: 'tool', from_workspace: 'origin' })
  const made = await aw.create({ id: 'made', template: 'tool' })
  expect(fs.statSync(join(made.path, 'work', 'tool')).mode & 0o777).toBe(0o755)
  expect(fs.readFileSync(join(made.path, '.aw', 'context.json'), 'utf8')).not.toContain('secret')
})

it('a workspace goes into a file and comes back as it was', async () => {
  const { aw, base } = await openGround()
  const origin = await aw.create({ id: 'origin/agent', profile: 'session' })
  const work = join(origin.path, 'mnt')
  fs.writeFileSync(join(work, 'file'), 'content', { mode: 0o640 })
  fs.symlinkSync('../elsewhere', join(work, 'link'))
  fs.linkSync(join(work, 'file'), join(work, 'twin'))
  fs.writeFileSync(join(origin.path, 'output', 'result'), 'result')
  const file = join(base, 'origin.aw')
  const told = await aw.export({ of: 'origin/agent', file })
  const digest = hash('sha256', fs.readFileSync(file))
  expect(told).toMatchObject({ workspace: 'origin/agent', bytes: fs.statSync(file).size, digest })
  expect(await codeOf(aw.export({ of: 'origin/agent', file }))).toBe('file_exists')
  expect(await aw.export({ of: told.snapshot, file, replace: true })).toMatchObject({ digest })

  expect(await codeOf(aw.import({ file }))).toBe('workspace_exists')
  const back = await aw.import({ file, id: 'back' })
  expect(back).toMatchObject({ profile: 'session', source: { kind: 'archive', verified: true, whole: true, digest } })
  const tree = (path: string) => readTree(path, { times: true, except: ['.aw'] })
  expect(tree(back.path)).toEqual(tree(origin.path))

  fs.writeFileSync(join(work, 'tool'), '')
  fs.chmodSync(join(work, 'tool'), 0o4755)
  await aw.export({ of: 'origin/agent', file, replace: true })
  const less = await aw.import({ file, id: 'less' })
  expect(less.imported).toMatchObject({
    skipped: 0,
    reduced: 1,
    reduced_paths: [{ path: 'mnt/tool', reason: 'setuid' }],
  })
  expect(fs.statSync(join(less.path, 'mnt', 'tool')).mode & 0o7777).toBe(0o755)

  const bytes = fs.readFileSync(file)
  bytes[300] = (bytes[300] ?? 0) ^ 0xff
  fs.writeFileSync(file, bytes)
  expect(await codeOf(aw.import({ file, id: 'damaged' }))).toBe('source_failed')
  expect(await codeOf(aw.get('damaged'))).toBe('workspace_not_found')
})

it('a file that one driver wrote is a workspace on another, and the same file again from there', async () => {
  const { aw, base } = await openGround()
  const other = await openAw({ home: join(base, 'other'), set: { 'storage.driver': 'dir' } })
  onTestFinished(() => other[Symbol.asyncDispose]())
  const { path } = await aw.create({ id: 'origin' })
  const work = join(path, 'work')
  fs.mkdirSync(join(work, 'empty'), { mode: 0o750 })
  fs.writeFileSync(join(work, 'holes'), '')
  fs.truncateSync(join(work, 'holes'), 1_000_000)
  fs.writeFileSync(join(work, 'tool'), '#!/bin/sh\n', { mode: 0o755 })
  fs.linkSync(join(work, 'tool'), join(work, 'twin'))
  fs.symlinkSync('/nowhere', join(work, 'link'))
  fs.utimesSync(join(work, 'tool'), 1, 1)
  const [there, back] = [join(base, 'there.aw'), join(base, 'back.aw')]
  await aw.export({ of: 'origin', file: there })
  const copy = await other.import({ file: there })
  const tree = (of: string) => readTree(of, { times: true, except: ['.aw'] })
  expect(tree(copy.path)).toEqual(tree(path))
  await other.export({ of: 'origin', file: back })
  expect(tree((await aw.import({ file: back, id: 'again' })).path)).toEqual(tree(path))
})

it('files are copied in, out, and from one to another; nothing is replaced, no link is followed', async () => {
  const { aw, base } = await openGround()
  const [one, two] = [await aw.create({ id: 'one' }), await aw.create({ id: 'two' })]
  const outside = join(base, 'outside')
  fs.mkdirSync(join(outside, 'deep'), { recursive: true })
  fs.writeFileSync(join(outside, 'file'), 'from outside')
  fs.writeFileSync(join(outside, 'deep', 'file'), 'deep')
  await aw.cp({ from: join(outside, 'file'), to: 'one:work/' })
  await aw.cp({ from: outside, to: 'one:work/copy' })
  expect(contentOf(one, 'file')).toBe('from outside')
  expect(readTree(join(one.path, 'work', 'copy'))).toEqual(readTree(outside))
  expect(await codeOf(aw.cp({ from: join(outside, 'file'), to: 'one:work/file' }))).toBe('file_exists')
  expect(await codeOf(aw.cp({ from: join(outside, 'file'), to: 'one:.aw/x' }))).toBe('path_protected')
  expect(await codeOf(aw.cp({ from: join(outside, 'file'), to: 'one:../../x' }))).toBe('path_traversal_attempt')
  await aw.cp({ from: 'one:work/copy', to: 'two:work/new/place' })
  expect(contentOf(two, 'new/place/deep/file')).toBe('deep')
  await aw.cp({ from: 'two:work/new', to: join(base, 'out') })
  expect(fs.readFileSync(join(base, 'out', 'place', 'file'), 'utf8')).toBe('from outside')
  expect(await codeOf(aw.cp({ from: 'two:work/new/place/file', to: join(base, 'out', 'place', 'file') }))).toBe(
    'file_exists',
  )
  fs.symlinkSync('/etc/passwd', join(one.path, 'work', 'passwd'))
  await aw.cp({ from: 'one:work/passwd', to: join(base, 'out') })
  expect(fs.readlinkSync(join(base, 'out', 'passwd'))).toBe('/etc/passwd')
  expect(await codeOf(aw.cp({ from: 'one:work/passwd/', to: join(base, 'passwd') }))).toBe('symlink_outside_workspace')
  expect(await codeOf(aw.cp({ from: 'one:work/none', to: join(base, 'none') }))).toBe('file_not_found')
  expect(await codeOf(aw.cp({ from: outside, to: base }))).toBe('invalid_input')
  expect(fs.readdirSync(one.path).toSorted()).toEqual(['.aw', 'output', 'tmp', 'work'])
  expect(fs.readdirSync(base).toSorted()).toEqual(['home', 'out', 'outside'])
})

it('a copy replaces a file when that is asked for, and never a directory', async () => {
  const { aw, base } = await openGround()
  const one = await aw.create({ id: 'one' })
  const file = join(base, 'file')
  fs.writeFileSync(file, 'first')
  await aw.cp({ from: file, to: 'one:/work/file' })
  expect(contentOf(one, 'file')).toBe('first')
  fs.writeFileSync(file, 'second')
  await expect(aw.cp({ from: file, to: 'one:/work/' })).rejects.toMatchObject({
    code: 'file_exists',
    hint: expect.stringContaining('--replace') as string,
  })
  await aw.cp({ from: file, to: 'one:work', replace: true })
  expect(contentOf(one, 'file')).toBe('second')
  fs.writeFileSync(file, 'third')
  await expect(aw.cp({ from: 'one:work/file', to: file })).rejects.toMatchObject({
    message: `There is something at ${file} already`,
    hint: expect.stringContaining('--replace') as string,
  })
  await aw.cp({ from: 'one:/work/file', to: base, replace: true })
  expect(fs.readFileSync(file, 'utf8')).toBe('second')

  fs.mkdirSync(join(base, 'out', 'file'), { recursive: true })
  const directory = join(base, 'out', 'file')
  await expect(aw.cp({ from: 'one:work/file', to: join(base, 'out'), replace: true })).rejects.toMatchObject({
    code: 'file_exists',
    message: `There is a directory at ${directory} already`,
  })
  fs.mkdirSync(join(one.path, 'work', 'deep', 'file'), { recursive: true })
  await expect(aw.cp({ from: file, to: 'one:work/deep', replace: true })).rejects.toMatchObject({
    code: 'file_exists',
    message: expect.stringContaining('There is a directory at') as string,
  })
  expect(await codeOf(aw.cp({ from: join(base, 'out'), to: 'one:work/file', replace: true }))).toBe('file_exists')
  expect(await codeOf(aw.cp({ from: 'one:work/deep', to: file, replace: true }))).toBe('file_exists')
  expect(fs.readdirSync(base).toSorted()).toEqual(['file', 'home', 'out'])
})

it('a file is copied as it was in a snapshot', async () => {
  const { aw, base } = await openGround()
  const one = await aw.create({ id: 'one' })
  fs.mkdirSync(join(one.path, 'work', 'deep'))
  fs.writeFileSync(join(one.path, 'work', 'deep', 'file'), 'then')
  const { id } = await aw.snapshot('one', { label: 'then' })
  fs.writeFileSync(join(one.path, 'work', 'deep', 'file'), 'now')
  await aw.cp({ from: 'one@then:work/deep/file', to: join(base, 'file') })
  expect(fs.readFileSync(join(base, 'file'), 'utf8')).toBe('then')
  await aw.cp({ from: 'one@then:/work/deep', to: join(base, 'deep') })
  expect(readTree(join(base, 'deep'))).toMatchObject({ file: { content: 'then' } })
  await aw.cp({ from: `${id}:work/deep/file`, to: 'one:work/deep/file', replace: true })
  expect(contentOf(one, 'deep/file')).toBe('then')
  expect(await codeOf(aw.cp({ from: 'one@then:work/none', to: join(base, 'none') }))).toBe('file_not_found')
  expect(await codeOf(aw.cp({ from: 'one@never:work', to: join(base, 'none') }))).toBe('snapshot_not_found')
  expect(await codeOf(aw.cp({ from: join(base, 'file'), to: 'one@then:work' }))).not.toBe('done')
  expect((await aw.recover()).orphans).toEqual([])
})

it('what cannot be copied is named as it was given', async () => {
  const { aw, base } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  await expect(aw.cp({ from: join(base, 'none'), to: 'one:work/' })).rejects.toMatchObject({
    code: 'file_not_found',
    message: `There is no such file or directory: ${base}/none`,
  })
  await expect(aw.cp({ from: '/dev/null', to: 'one:work/' })).rejects.toMatchObject({
    code: 'not_a_file',
    message: expect.stringContaining('/dev/null is no file') as string,
  })
  const away = join(base, 'away', 'file')
  fs.writeFileSync(join(path, 'work', 'file'), 'content')
  await expect(aw.cp({ from: 'one:work/file', to: away })).rejects.toMatchObject({
    code: 'file_not_found',
    message: `There is no directory ${base}/away`,
  })
  // There is nothing that root may not do.
  if (process.getuid?.() === 0) return
  await expect(aw.cp({ from: '/etc/shadow', to: 'one:work/' })).rejects.toMatchObject({
    code: 'permission_denied',
    message: '/etc/shadow cannot be read',
  })
  await expect(aw.cp({ from: '/root', to: 'one:work/' })).rejects.toMatchObject({
    code: 'permission_denied',
    message: '/root cannot be read',
  })
  await expect(aw.cp({ from: 'one:work/file', to: '/etc/zz' })).rejects.toMatchObject({
    code: 'permission_denied',
    message: '/etc cannot be written to',
  })
})

it("a shared area is nobody's, is in no snapshot and goes to the trash", async () => {
  const { aw } = await openGround()
  const { path } = await aw.shared.create({ name: 'models' })
  fs.writeFileSync(join(path, 'weights'), 'heavy')
  expect(await aw.shared.list({ sizes: true })).toMatchObject([{ name: 'models', task: null, bytes: 5 }])
  expect(await codeOf(aw.shared.create({ name: 'models' }))).toBe('shared_exists')
  expect(await codeOf(aw.shared.create({ name: '../x' }))).toBe('invalid_name')
  expect((await aw.recover()).orphans).toEqual([])
  expect(await aw.shared.remove({ name: 'models' })).toMatchObject({ removed: true })
  expect(fs.existsSync(path)).toBe(false)
  expect(await codeOf(aw.shared.remove({ name: 'models' }))).toBe('shared_not_found')
  expect((await aw.recover()).orphans).toEqual([])
  await aw.shared.create({ name: 'models' })
  expect(fs.readdirSync(path)).toEqual([])
  const back = await aw.shared.undelete({ trash: 'models', as: 'older' })
  expect(fs.readFileSync(join(back.path, 'weights'), 'utf8')).toBe('heavy')
  // Something of the user's own is where it should be.
  const { trash } = await aw.shared.remove({ name: 'older' })
  fs.writeFileSync(back.path, '')
  expect(await codeOf(aw.shared.undelete({ trash: 'older' }))).toBe('file_exists')
  expect(await aw.shared.list({ trashed: true })).toMatchObject([{ name: 'older', trash }])
  fs.rmSync(back.path)
  expect(fs.readdirSync((await aw.shared.undelete({ trash: trash ?? '' })).path)).toEqual(['weights'])
  expect((await aw.recover()).orphans).toEqual([])
})

it('a base that workspaces began as stays unless that is named; without it all goes on', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const { base } = await aw.create({ id: 'one', repo })
  if (base === null) {
    expect(hasBases).toBe(false)
    return
  }
  expect(await codeOf(aw.bases.remove({ name: base }))).toBe('base_in_use')
  expect(await aw.bases.remove({ name: base.slice(0, 20), force: true })).toEqual({ removed: base })
  expect(await codeOf(aw.bases.remove({ name: base }))).toBe('base_not_found')
  expect((await aw.create({ id: 'two', repo })).base).toBe(base)
  expect(contentOf(await aw.reset('one'), 'README')).toBe('one\n')
})
