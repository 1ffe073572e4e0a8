import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { sh } from '../sandbox/exec/run-script.ts'
import { codeOf, makeRepository, openGround } from '../sources/fixture.ts'
import { git, gitBytes, listing, stateOf } from './fixture.ts'

it('a branch has the commits of the agent, and one more for what is not committed', { timeout: 60_000 }, async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  await aw.create({ id: 'task', repo })
  await sh(aw, 'task', 'echo two > two; git add two; git commit -q -m "from the agent"; echo three > three; rm README')
  const before = stateOf(repo)
  const told = await aw.export({ of: 'task', branch: 'agent/task', repo })
  expect(told).toMatchObject({ format: 'branch', commits: 2, history: true, onto: git(repo, ['rev-parse', 'main']) })
  expect(git(repo, ['log', '--format=%s|%an', 'main..agent/task'])).toBe(
    'Work of task/main|aw agent\nfrom the agent|aw agent',
  )
  expect(listing(repo, 'agent/task').map((line) => line.split('\t')[1])).toEqual(['src/main.ts', 'three', 'two'])
  const after = stateOf(repo)
  expect(after.rest).toEqual(before.rest)
  expect(after.refs).toEqual([`refs/heads/agent/task ${told.commit}`, ...before.refs])
  expect(git(repo, ['fsck', '--strict', '--full'])).toBe('')
  expect(await aw.export({ of: 'task', branch: 'agent/task', repo })).toMatchObject({
    changed: false,
    commit: told.commit,
  })
  await sh(aw, 'task', 'echo more >> three')
  expect(await codeOf(aw.export({ of: 'task', branch: 'agent/task', repo }))).toBe('branch_exists')
  const again = await aw.export({ of: 'task', branch: 'agent/task', repo, overwrite: true })
  expect(again).toMatchObject({ before: told.commit, changed: true, commits: 2 })
})

it('what git has under the name of the metadata directory stays as it is', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  fs.mkdirSync(join(repo, '.m'))
  fs.writeFileSync(join(repo, '.m', 'notes'), 'notes\n')
  git(repo, ['add', '.m'])
  git(repo, ['commit', '--quiet', '--message', 'notes'])
  const { path } = await aw.create({ id: 'task', repo, profile: 'repo' })
  expect(await aw.export({ of: 'task', patch: true })).toMatchObject({ files: 0 })
  expect(await aw.export({ of: 'task', branch: 'same', repo })).toMatchObject({
    commits: 0,
    commit: git(repo, ['rev-parse', 'main']),
  })
  fs.writeFileSync(join(path, 'new'), 'new\n')
  expect(await aw.export({ of: 'task', patch: true })).toMatchObject({ files: 1 })
  await aw.export({ of: 'task', branch: 'more', repo, squash: true })
  expect(git(repo, ['diff', '--name-status', 'main', 'more'])).toBe('A\tnew')
})

const files = (repository: string, commit: string): string[] =>
  listing(repository, commit).map((line) => line.split('\t')[1] ?? '')

it('a branch of a workspace without a repository is one commit, on what was named or on nothing', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const repo = makeRepository(ground)
  const folder = join(base, 'folder')
  fs.mkdirSync(folder)
  fs.writeFileSync(join(folder, 'a'), 'a\n')
  await aw.create({ id: 'folder', from: { folder } })
  const alone = await aw.export({ of: 'folder', branch: 'alone', repo, message: 'Here it is' })
  expect(alone).toMatchObject({ commits: 1, onto: null, history: false })
  expect(git(repo, ['log', '--format=%s|%P', 'alone'])).toBe('Here it is|')
  const main = git(repo, ['rev-parse', 'main'])
  expect(await aw.export({ of: 'folder', branch: 'on-main', repo, onto: 'main' })).toMatchObject({ onto: main })
  expect(git(repo, ['log', '-1', '--format=%P', 'on-main'])).toBe(main)
  expect(files(repo, 'on-main')).toEqual(['a'])
  expect(await codeOf(aw.export({ of: 'folder', branch: 'x', repo, onto: 'nowhere' }))).toBe('invalid_input')
  expect(await codeOf(aw.export({ of: 'folder', branch: 'x', repo, onto: '--output=/tmp/x' }))).toBe('invalid_input')
})

it('where the content was is something else: nothing is exported, and that is said', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const repo = makeRepository(ground)
  const { path } = await aw.create({ id: 'task' })
  fs.rmdirSync(join(path, 'work'))
  fs.symlinkSync(repo, join(path, 'work'))
  for (const form of [{ bundle: join(base, 'b') }, { branch: 'b', repo }, { patch: true }])
    await expect(aw.export({ of: 'task', ...form })).rejects.toMatchObject({
      code: 'export_failed',
      hint: expect.stringContaining('work') as string,
    })
})

it('with all its history, squashed, rewritten, made by the agent alone', { timeout: 60_000 }, async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const main = git(repo, ['rev-parse', 'main'])
  await aw.create({ id: 'full', repo, full: true })
  await sh(
    aw,
    'full',
    'git checkout -q -b mine v1; echo x > x; git add x; git commit -q -m x; git merge -q -m both main',
  )
  expect(await aw.export({ of: 'full', branch: 'full', repo })).toMatchObject({ history: true, commits: 2, onto: main })
  expect(await aw.export({ of: 'full', branch: 'squashed', repo, squash: true })).toMatchObject({
    commits: 1,
    onto: main,
  })
  expect(git(repo, ['diff', 'full', 'squashed'])).toBe('')
  await aw.create({ id: 'orphan', repo })
  await sh(aw, 'orphan', 'git checkout -q --orphan other; git commit -q -m "all anew"')
  await sh(aw, 'orphan', 'echo x > x')
  // What does not lead on from where it began is not kept: the work is, on top of that.
  const rewritten = await aw.export({ of: 'orphan', branch: 'orphan', repo })
  expect(rewritten).toMatchObject({ history: false, onto: main, commits: 1 })
  await aw.create({ id: 'own' })
  await sh(aw, 'own', 'git init -q; echo y > y; git add y; git commit -q -m y; echo z > z')
  expect(await aw.export({ of: 'own', branch: 'own', repo })).toMatchObject({ history: true, onto: null, commits: 2 })
  expect(files(repo, 'own')).toEqual(['y', 'z'])
  await aw.create({ id: 'cut', repo })
  await sh(aw, 'cut', 'echo x > x; git add x; git commit -q -m x')
  // In another second, and so of other commits.
  await sleep(1100)
  const late = makeRepository({ base: join(ground.base, 'late') })
  expect(await aw.export({ of: 'cut', branch: 'cut', repo: late })).toMatchObject({ history: false, commits: 1 })
  for (const one of [repo, late]) expect(git(one, ['fsck', '--strict', '--full', '--no-dangling'])).toBe('')
})

it('a fork is exported like what it is a fork of; so is a snapshot', { timeout: 60_000 }, async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  await aw.create({ id: 'origin', repo, profile: 'repo' })
  await sh(aw, 'origin', 'echo one > one; git add one; git commit -q -m one')
  const { id } = await aw.snapshot('origin', { label: 'first' })
  await sh(aw, 'origin', 'echo two > two')
  await aw.fork('origin', { id: 'fork' })
  await sh(aw, 'fork', 'echo three > three')
  expect(await aw.export({ of: 'fork', branch: 'fork', repo })).toMatchObject({ history: true, commits: 2 })
  expect(files(repo, 'fork')).toEqual(['README', 'one', 'src/main.ts', 'three', 'two'])
  expect(await aw.export({ of: 'origin@first', branch: 'first', repo })).toMatchObject({ snapshot: id, commits: 1 })
  const patch = await aw.export({ of: 'fork', patch: true })
  expect(Buffer.from(patch.patch as Uint8Array).toString()).toContain('+++ b/three')
  expect(patch.files).toBe(1)
})

it(
  'a branch that is checked out anywhere, or in the middle of something, is left alone',
  { timeout: 60_000 },
  async () => {
    const ground = await openGround()
    const { aw, base } = ground
    const repo = makeRepository(ground)
    await aw.create({ id: 'task', repo })
    await sh(aw, 'task', 'echo x > README')
    git(repo, ['worktree', 'add', '-q', join(base, 'linked'), 'other'])
    git(repo, ['branch', 'rebased', 'v1'])
    fs.mkdirSync(join(repo, '.git/rebase-merge'))
    fs.writeFileSync(join(repo, '.git/rebase-merge/head-name'), 'refs/heads/rebased\n')
    git(repo, ['symbolic-ref', 'refs/heads/alias', 'refs/heads/main'])
    git(repo, ['symbolic-ref', 'refs/heads/nowhere', 'refs/heads/gone'])
    const before = stateOf(repo)
    for (const branch of ['main', 'other', 'rebased', 'alias', 'nowhere'])
      for (const overwrite of [false, true])
        expect([branch, await codeOf(aw.export({ of: 'task', branch, repo, overwrite }))]).toEqual([
          branch,
          'branch_in_use',
        ])
    expect(stateOf(repo)).toEqual(before)
    fs.mkdirSync(join(base, 'unborn'))
    git(join(base, 'unborn'), ['init', '-q'])
    expect(await codeOf(aw.export({ of: 'task', branch: 'main', repo: join(base, 'unborn') }))).toBe('branch_in_use')
    for (const branch of ['-x', 'a..b', 'a b', 'HEAD', 'a.lock', '', 'x\ny', 'a'.repeat(40)])
      expect([branch, await codeOf(aw.export({ of: 'task', branch, repo }))]).toEqual([branch, 'invalid_input'])
    const nowhere = [base, join(base, 'nothing'), join(repo, 'README'), (await aw.get('task')).path]
    for (const other of nowhere)
      expect([other, await codeOf(aw.export({ of: 'task', branch: 'x', repo: other }))]).toEqual([
        other,
        'invalid_input',
      ])
  },
)

it('hooks of the repository do not run, and its linked work trees can be named', { timeout: 60_000 }, async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const repo = makeRepository(ground)
  await aw.create({ id: 'task', repo })
  await sh(aw, 'task', 'echo x > README')
  const ran = join(base, 'ran')
  for (const name of ['reference-transaction', 'post-update', 'pre-receive', 'post-checkout', 'pre-auto-gc'])
    fs.writeFileSync(join(repo, '.git/hooks', name), `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 })
  git(repo, ['worktree', 'add', '-q', join(base, 'linked'), 'other'])
  fs.rmSync(ran, { force: true })
  await aw.export({ of: 'task', branch: 'from-linked', repo: join(base, 'linked') })
  expect(fs.existsSync(ran)).toBe(false)
  expect(files(repo, 'from-linked')).toEqual(['README', 'src/main.ts'])
})

it('a shallow repository of the user gets a branch and stays as shallow', { timeout: 60_000 }, async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const repo = makeRepository(ground)
  const shallow = join(base, 'shallow')
  git(base, ['clone', '-q', '--depth=1', `file://${repo}`, shallow])
  await aw.create({ id: 'task', repo })
  await sh(aw, 'task', 'echo x > x; git add x; git commit -q -m x; echo y > y')
  expect(await aw.export({ of: 'task', branch: 'x', repo: shallow })).toMatchObject({ history: true, commits: 2 })
  expect(git(shallow, ['rev-list', '--count', 'x'])).toBe('3')
  expect(git(shallow, ['fsck', '--full', '--strict'])).toBe('')
})

it(
  'a bundle can be verified and cloned; of a workspace without all its history it builds on what that began as',
  { timeout: 60_000 },
  async () => {
    const ground = await openGround()
    const { aw, base } = ground
    const repo = makeRepository(ground)
    const file = join(base, 'task.bundle')
    await aw.create({ id: 'full', repo, full: true })
    await sh(aw, 'full', 'echo x > x; git add x; git commit -q -m x; echo y > y')
    expect(await aw.export({ of: 'full', bundle: file })).toMatchObject({
      commits: 2,
      history: true,
      branch: 'full/main',
    })
    git(base, ['clone', '-q', file, join(base, 'clone')])
    expect(git(join(base, 'clone'), ['log', '--format=%s'])).toBe(
      'Work of full/main\nx\nsrc/main.ts is export {}\nREADME is one',
    )
    expect(fs.readdirSync(join(base, 'clone')).toSorted()).toEqual(['.git', 'README', 'src', 'x', 'y'])
    expect(await codeOf(aw.export({ of: 'full', bundle: file }))).toBe('file_exists')
    await aw.create({ id: 'cut', repo })
    expect(await codeOf(aw.export({ of: 'cut', bundle: file, replace: true }))).toBe('export_failed')
    await sh(aw, 'cut', 'echo x > x; git add x; git commit -q -m x; echo y > y')
    expect(await aw.export({ of: 'cut', bundle: file, replace: true })).toMatchObject({ commits: 2, history: true })
    git(repo, ['bundle', 'verify', '-q', file])
    git(repo, ['fetch', '-q', file, 'cut/main:cut'])
    expect(git(repo, ['rev-list', '--count', 'main..cut'])).toBe('2')
    await aw.export({ of: 'cut', bundle: file, replace: true, squash: true })
    git(base, ['clone', '-q', file, join(base, 'squashed')])
    expect(git(join(base, 'squashed'), ['rev-list', '--count', 'HEAD'])).toBe('1')
  },
)

it(
  'submodules stay what they are; what git ignores is left out, unless it is tracked or asked for',
  { timeout: 60_000 },
  async () => {
    const ground = await openGround()
    const { aw, base } = ground
    const inner = makeRepository(ground, 'inner')
    const repo = makeRepository(ground)
    git(repo, ['-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'sub'])
    fs.writeFileSync(join(repo, '.gitignore'), 'build/\n*.log\n')
    fs.mkdirSync(join(repo, 'build'))
    fs.writeFileSync(join(repo, 'build/kept'), 'kept\n')
    git(repo, ['add', '-f', '.'])
    git(repo, ['commit', '-q', '-m', 'submodule'])
    await aw.create({ id: 'task', repo })
    await sh(
      aw,
      'task',
      'echo changed > build/kept; echo x > build/new; echo x > a.log; mkdir node; echo x > node/b.log; git init -q nested; echo x > nested/x',
    )
    const told = await aw.export({ of: 'task', branch: 'x', repo })
    expect(told).toMatchObject({ ignored: 3, left_out: [] })
    const wanted = ['.gitignore', '.gitmodules', 'README', 'build/kept', 'nested/x', 'src/main.ts', 'sub']
    expect(files(repo, 'x')).toEqual(wanted)
    expect(git(repo, ['diff', '--stat', 'main', 'x', '--', 'sub', '.gitmodules'])).toBe('')
    const all = await aw.export({ of: 'task', branch: 'y', repo, ignored: true })
    expect(all.ignored).toBe(0)
    expect(files(repo, 'y')).toEqual([...wanted, 'a.log', 'build/new', 'node/b.log'].toSorted())
    const patch = await aw.export({ of: 'task', patch: true, file: join(base, 'p') })
    expect(patch).toMatchObject({ files: 2, ignored: 3, file: join(base, 'p'), left_out: [] })
    // What is done in one stays behind, and is told.
    await sh(aw, 'task', 'echo x > sub/new')
    const left_out = [{ path: 'sub', reason: 'submodule' }]
    expect(await aw.export({ of: 'task', branch: 'z', repo })).toMatchObject({ left_out })
    const { patch: text = '', left_out: left } = await aw.export({ of: 'task', patch: true })
    // Against a base it is a file like others.
    if (Buffer.from(text).includes('sub/new')) expect(left).toEqual([])
    else expect(left).toEqual(left_out)
  },
)

it(
  'line ends are those that git keeps, where attributes ask for others in the work tree',
  { timeout: 60_000 },
  async () => {
    const ground = await openGround()
    const { aw, base } = ground
    const repo = makeRepository(ground)
    fs.writeFileSync(join(repo, '.gitattributes'), '*.bat text eol=crlf\n')
    for (const name of ['same.bat', 'edited.bat']) fs.writeFileSync(join(repo, name), 'one\ntwo\n')
    fs.writeFileSync(join(repo, 'unix'), 'one\n')
    git(repo, ['add', '.'])
    git(repo, ['commit', '-q', '-m', 'attributes'])
    const { path } = await aw.create({ id: 'task', repo })
    expect(fs.readFileSync(join(path, 'work/same.bat'), 'utf8')).toBe('one\r\ntwo\r\n')
    expect(await aw.export({ of: 'task', branch: 'nothing', repo })).toMatchObject({ commits: 0 })
    await sh(
      aw,
      'task',
      "printf 'one\\r\\nthree\\r\\n' > edited.bat; printf 'a\\rb\\r\\n' > unix; printf 'x\\r\\n' > new.bat",
    )
    await aw.export({ of: 'task', branch: 'edited', repo })
    expect(git(repo, ['diff', '--name-only', 'main', 'edited'])).toBe('edited.bat\nnew.bat\nunix')
    const of = (name: string): string => gitBytes(repo, ['cat-file', 'blob', `edited:${name}`]).toString()
    expect([of('edited.bat'), of('unix'), of('new.bat')]).toEqual(['one\nthree\n', 'a\rb\r\n', 'x\r\n'])
    const { file, files } = await aw.export({ of: 'task', patch: true, file: join(base, 'patch') })
    expect([file, files]).toEqual([join(base, 'patch'), 3])
  },
)

it('while an agent works there, several at once, and the workspace does not notice', { timeout: 120_000 }, async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  await aw.create({ id: 'busy', repo })
  await aw.start('busy')
  await sh(
    aw,
    'busy',
    'echo x > x; git add x; git commit -q -m x; (while :; do date > now; sleep 0.01; done) > /dev/null 2>&1 &',
  )
  const before = await sh(aw, 'busy', 'git rev-parse HEAD; git status --short; ls -A .git')
  const told = await Promise.all(
    ['one', 'two', 'three'].map((branch) => aw.export({ of: 'busy', branch, repo, message: 'now' })),
  )
  for (const { branch = '', history, commits } of told) {
    expect({ history, commits }).toEqual({ history: true, commits: 2 })
    expect(files(repo, branch)).toEqual(['README', 'now', 'src/main.ts', 'x'])
  }
  expect(await sh(aw, 'busy', 'git rev-parse HEAD; git status --short; ls -A .git')).toBe(before)
  await aw.stop('busy')
  expect((await aw.get('busy')).sandbox).toBeNull()
})
