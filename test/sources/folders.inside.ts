import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { readTree } from '../support/tree.ts'
import { commit, contentOf, git, hasBases, makeRepository, namesIn, openGround } from './fixture.ts'

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

it('a reset after the folder is gone starts over from the base, where there is one', async () => {
  const ground = await openGround()
  const { aw, base: top } = ground
  const folder = join(top, 'folder')
  fs.mkdirSync(folder)
  fs.writeFileSync(join(folder, 'a'), 'first')
  const one = await aw.create({ id: 'one', from: { folder } })
  // What the folder became later is the beginning of others.
  fs.writeFileSync(join(folder, 'a'), 'second')
  const two = await aw.create({ id: 'two', from: { folder } })
  fs.writeFileSync(join(one.path, 'work/a'), 'changed')
  fs.rmSync(folder, { recursive: true })
  const gone = { code: 'source_failed', data: { folder, gone: true } }
  if (!hasBases) {
    await expect(aw.reset('one')).rejects.toMatchObject(gone)
    return
  }
  expect(await aw.reset('one')).toMatchObject({ base: one.base, generation: 2, state: 'ready' })
  expect([one, two].map((made) => contentOf(made, 'a'))).toEqual(['first', 'second'])
  await expect(aw.create({ id: 'three', from: { folder } })).rejects.toMatchObject(gone)
  // What is there but no folder is refused as ever.
  fs.writeFileSync(folder, 'a file')
  await expect(aw.reset('one')).rejects.toMatchObject({ code: 'source_failed' })
  expect(contentOf(one, 'a')).toBe('first')
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
