import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { collect } from '../support/collect.ts'
import { codeOf, commit, contentOf, git, hasBases, makeRepository, namesIn, openGround } from './fixture.ts'

const execute = promisify(execFile)

it('a repository becomes a workspace: the default branch, a branch, a tag, a commit', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const first = git(repo, 'rev-parse', 'v1')
  const head = git(repo, 'rev-parse', 'main')
  const wanted = [
    { id: 'head', ref: undefined, commit: head, branch: 'main', names: ['.git', 'README', 'src'] },
    { id: 'branch', ref: 'other', commit: first, branch: 'other', names: ['.git', 'README'] },
    { id: 'tag', ref: 'v1', commit: first, branch: null, names: ['.git', 'README'] },
    { id: 'commit', ref: first, commit: first, branch: null, names: ['.git', 'README'] },
  ]
  for (const { id, ref, commit: at, branch, names } of wanted) {
    const workspace = await aw.create({ id, repo, ref })
    expect(workspace.source).toMatchObject({ kind: 'git', url: repo, commit: at, branch, shallow: true })
    expect(namesIn(workspace)).toEqual(names)
    expect(git(join(workspace.path, 'work'), 'status', '--porcelain')).toBe('')
    expect(git(join(workspace.path, 'work'), 'rev-parse', 'HEAD')).toBe(at)
    expect(git(join(workspace.path, 'work'), 'rev-list', '--count', 'HEAD')).toBe('1')
  }
  const full = await aw.create({ id: 'full', repo, full: true })
  expect(git(join(full.path, 'work'), 'rev-list', '--count', 'HEAD')).toBe('2')
  expect(git(join(full.path, 'work'), 'fsck', '--full')).toBe('')
  expect(full.source).not.toHaveProperty('cut')
  // What the source has not got cannot come; that is told, also of the second.
  const shallow = `${repo}-shallow`
  git(dirname(repo), 'clone', '--quiet', '--depth', '1', `file://${repo}`, shallow)
  for (const id of ['cut', 'cut-again']) {
    const cut = await aw.create({ id, repo: shallow, full: true })
    expect(cut.source).toMatchObject({ shallow: false, cut: true })
    expect(git(join(cut.path, 'work'), 'rev-list', '--count', 'HEAD')).toBe('1')
  }
  expect((await aw.create({ id: 'one-commit', repo: shallow })).source).not.toHaveProperty('cut')
  // As `aw show --json` tells it.
  const again = await aw.create({ id: 'null', from: { git: { url: repo, ref: null, shallow: null } } })
  expect(again.source).toMatchObject({ kind: 'git', commit: head, ref: null })
})

it('the second of the same commit begins as the base of the first; a new commit has its own', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const one = await aw.create({ id: 'one', repo })
  fs.writeFileSync(join(one.path, 'work', 'README'), 'changed by the first')
  const two = await aw.create({ id: 'two', repo })
  expect(contentOf(two, 'README')).toBe('one\n')
  expect(two.base).toBe(one.base)
  expect(two.source).toEqual(one.source)
  expect(two.imported).toEqual(one.imported)
  if (hasBases) {
    const changes = await aw.diff('one')
    expect(changes.map(({ path, change }) => [path, change])).toEqual([['work/README', 'changed']])
    expect(await aw.diff('one@base', 'two')).toEqual([])
  }
  commit(repo, 'README', 'two\n')
  const three = await aw.create({ id: 'three', repo })
  expect(contentOf(three, 'README')).toBe('two\n')
  expect(three.base === null).toBe(!hasBases)
  const bases = await aw.bases.list({ sizes: true })
  expect(bases.map(({ used_by }) => used_by)).toEqual(hasBases ? [['one/main', 'two/main'], ['three/main']] : [])
  expect(new Set(bases.map(({ name }) => name)).size).toBe(bases.length)
})

it('a repository that cannot be had leaves an empty workspace, which a reset fills', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const failed = aw.create({ id: 'late', repo, ref: 'later' })
  await expect(failed).rejects.toMatchObject({
    code: 'source_failed',
    hint: expect.stringMatching(/aw reset late\/main.* aw create late\/main --repo \S+ --ref/) as unknown,
  })
  const kept = await aw.get('late')
  expect(kept).toMatchObject({ state: 'failed', problem: { code: 'source_failed' } })
  expect(namesIn(kept)).toEqual([])
  // It still waits when it comes back from the trash.
  await aw.destroy('late')
  expect(await aw.undelete('late')).toMatchObject({ state: 'failed', problem: { code: 'source_failed' } })
  git(repo, 'branch', 'later')
  const filled = await aw.reset('late')
  expect(filled).toMatchObject({ state: 'ready', problem: null, source: { branch: 'later' } })
  expect(namesIn(filled)).toEqual(['.git', 'README', 'src'])
  await aw.destroy('late')
  expect(await aw.undelete('late')).toMatchObject({ state: 'ready', problem: null })
})

it('a path that leads to no repository, or to no folder, is told before anything is made', async () => {
  const { aw, base } = await openGround()
  const empty = join(base, 'empty')
  fs.mkdirSync(empty)
  for (const repo of [join(base, 'mistyped'), empty]) {
    const failed = { code: 'source_failed', message: expect.stringContaining(repo) as unknown }
    await expect(aw.create({ id: 'typo', repo })).rejects.toMatchObject(failed)
    await expect(collect(aw.manager.stream('run', { id: 'typo', repo, argv: ['true'] }))).rejects.toMatchObject(failed)
  }
  expect((await collect(aw.events())).map(({ type }) => type)).toEqual(['home_created'])
  await expect(aw.create({ id: 'typo', from: { folder: join(base, 'mistyped') } })).rejects.toMatchObject({
    code: 'source_failed',
    hint: expect.stringContaining('exists') as unknown,
  })
  expect([await aw.list(), await aw.runs()]).toEqual([[], []])
  expect(await aw.create({ id: 'typo', from: { folder: empty } })).toMatchObject({ state: 'ready' })
})

it('who asks again for a name that waits for its source means the new try', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  await expect(aw.create({ id: 'typo', repo, ref: 'mian' })).rejects.toMatchObject({
    code: 'source_failed',
    hint: expect.stringContaining('Did you mean main? typo/main is kept') as unknown,
  })
  expect(await codeOf(aw.create({ id: 'typo', repo, ref: 'nowhere' }))).toBe('source_failed')
  const made = await aw.create({ id: 'typo', repo, ref: 'main' })
  expect(made).toMatchObject({ state: 'ready', source: { branch: 'main' } })
  expect(await codeOf(aw.create({ id: 'typo', repo }))).toBe('workspace_exists')
  expect(await codeOf(aw.create({ id: 'ensured', repo, ref: 'mian' }))).toBe('source_failed')
  expect(await aw.ensure('ensured', { repo })).toMatchObject({ state: 'ready' })
  fs.writeFileSync(join(repo, '.git/HEAD'), 'ref: refs/heads/unborn\n')
  await expect(aw.create({ id: 'unborn', repo })).rejects.toMatchObject({
    code: 'source_failed',
    hint: expect.stringMatching(
      /^Name a branch: main.* and name a ref: aw create unborn\/main --repo \S+ --ref/,
    ) as unknown,
  })
})

it('a reset begins where the workspace began, whatever the repository is now', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const workspace = await aw.create({ id: 'again', repo })
  fs.writeFileSync(join(workspace.path, 'work', 'README'), 'changed')
  commit(repo, 'README', 'two\n')
  const reset = await aw.reset('again')
  expect(contentOf(reset, 'README')).toBe('one\n')
  expect(reset.source).toEqual(workspace.source)
})

it('urls that are none, and two sources at once, are refused before anything is made', async () => {
  const { aw, base } = await openGround()
  for (const repo of ['-u./evil', 'ext::sh -c true', 'file:///etc', 'http://example.com/x.git', 'ftp://x/y', ''])
    expect([repo, await codeOf(aw.create({ id: 'never', repo }))]).toEqual([repo, 'invalid_input'])
  expect(await codeOf(aw.create({ id: 'never', repo: base, from: { folder: base } }))).toBe('invalid_input')
  expect(await codeOf(aw.create({ id: 'never', ref: 'main' }))).toBe('invalid_input')
  for (const from of [{}, { snapshot: undefined }])
    expect(await codeOf(aw.create({ id: 'never', from }))).toBe('invalid_input')
  expect(await codeOf(aw.create({ id: 'never', from: { git: { url: base, ref: '--upload-pack=x' } } }))).toBe(
    'invalid_input',
  )
  expect(await aw.list({ all: true })).toEqual([])
})

it('the work tree is where the layout has it', async () => {
  const ground = await openGround()
  const repo = makeRepository(ground)
  for (const id of ['one', 'two']) {
    const { path } = await ground.aw.create({ id, repo, profile: 'repo' })
    expect(fs.readdirSync(path).toSorted()).toEqual(['.git', '.m', 'README', 'src'])
    expect(git(path, 'status', '--porcelain')).toBe('')
  }
})

it('nine processes that ask for one repository at once all get it', { timeout: 120_000 }, async () => {
  const ground = await openGround()
  const repo = makeRepository(ground)
  const program = join(import.meta.dirname, '../crash/program.ts')
  const answers = await Promise.all(
    Array.from({ length: 9 }, async (_, index) => {
      const input = JSON.stringify({ id: `process-${index}`, repo })
      const { stdout } = await execute(process.execPath, [program, 'call', ground.home, 'create', input])
      return (JSON.parse(stdout) as { result?: { path: string }; error?: unknown }).result ?? stdout
    }),
  )
  for (const answer of answers) expect(contentOf(answer as { path: string }, 'README')).toBe('one\n')
})

it('many at once from one repository all come off', { timeout: 120_000 }, async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const many = await Promise.all(Array.from({ length: 100 }, (_, index) => aw.create({ id: `many-${index}`, repo })))
  expect(new Set(many.map((workspace) => contentOf(workspace, 'README')))).toEqual(new Set(['one\n']))
  expect(new Set(many.map(({ base }) => base)).size).toBe(1)
})
