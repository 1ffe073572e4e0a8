import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { gitRepositories } from '../../../src/drivers/repositories/git.ts'
import type { Repositories } from '../../../src/ports/repositories.ts'
import { addCommit, makePlace, makeSource, treeIn, type Place } from './fixture.ts'

let place: Place
let repositories: Repositories
let source: string

beforeEach(() => {
  place = makePlace()
  repositories = gitRepositories({ root: place.path('mirrors'), avoid: [] })
  source = makeSource(place, 'widget', { a: '1' }, { b: '2' })
})
afterEach(() => place[Symbol.asyncDispose]())

async function clone(url: string, ref: string | null, shallow: boolean) {
  const resolved = await repositories.resolve({ url, ref })
  const into = place.empty()
  const cloned = await repositories.clone({ url, resolved, shallow, into })
  expect(place.git(into, 'status', '--porcelain')).toBe('')
  expect(place.git(into, 'fsck', '--full', '--no-dangling')).toBe('')
  expect(fs.readdirSync(join(into, '.git'))).not.toContain('stage')
  return { into, cloned, resolved, log: place.git(into, 'log', '--format=%s').split('\n') }
}

describe.each([true, false])('without history: %s', (shallow) => {
  const refs = shallow ? {} : { refs: expect.any(String) as unknown }
  const whole = (...subjects: string[]): string[] => (shallow ? subjects.slice(0, 1) : subjects)

  test('objects in single files, in packs, and in both', async () => {
    const loose = await clone(source, null, shallow)
    expect(loose.log).toEqual(whole('commit 2', 'commit 1'))
    expect(loose.cloned).toEqual({ branch: 'main', files: 2, bytes: 2, submodules: [], lfs: 0, ...refs })
    place.git(source, 'gc', '--quiet')
    expect((await clone(source, 'main', shallow)).log).toEqual(whole('commit 2', 'commit 1'))
    addCommit(place, source, { c: '3' }, 'third')
    expect((await clone(source, 'main', shallow)).log).toEqual(whole('third', 'commit 2', 'commit 1'))
    expect(await repositories.list()).toEqual([])
  })

  test('a bare repository, a linked work tree, and a clone without history', async () => {
    const [bare, linked, short] = ['bare', 'linked', 'short'].map((name) => place.path(name)) as [
      string,
      string,
      string,
    ]
    place.git(source, 'clone', '--quiet', '--bare', source, bare)
    expect((await clone(bare, null, shallow)).log).toEqual(whole('commit 2', 'commit 1'))
    place.git(source, 'worktree', 'add', '--quiet', '-b', 'side', linked, 'HEAD~1')
    addCommit(place, linked, { s: 's' }, 'on the side')
    const made = await clone(linked, null, shallow)
    expect([made.cloned.branch, made.log]).toEqual(['side', whole('on the side', 'commit 1')])
    place.git(source, 'clone', '--quiet', '--depth=1', `file://${source}`, short)
    expect((await clone(short, null, shallow)).log).toEqual(['commit 2'])
  })

  test('branches and tags of all kinds, and a HEAD on none', async () => {
    const first = place.git(source, 'rev-parse', 'HEAD~1')
    place.git(source, 'tag', 'light', first)
    place.git(source, 'tag', '-a', 'full', '-m', 'x', first)
    place.git(source, 'tag', '-a', 'twice', '-m', 'x', 'full')
    place.git(source, 'branch', 'a/b/c', first)
    for (let round = 0; round < 3; round++) {
      for (const ref of ['light', 'full', 'twice', 'refs/tags/full', 'a/b/c', first]) {
        const made = await clone(source, ref, shallow)
        expect(made.resolved.commit).toBe(first)
        expect(made.cloned.branch).toBe(ref === 'a/b/c' ? ref : null)
        if (ref === 'full') expect(place.git(made.into, 'cat-file', '-t', 'full')).toBe('tag')
      }
      place.git(source, ...(round === 0 ? ['pack-refs', '--all'] : ['gc', '--quiet']))
      if (round === 1) for (const tag of ['light', 'full', 'twice']) loosen(tag)
    }
    place.git(source, 'checkout', '--quiet', first)
    expect((await clone(source, null, shallow)).resolved).toEqual({ url: source, commit: first, ref: null })
  })

  test('an id of no commit', async () => {
    place.git(source, 'tag', '-a', 'full', '-m', 'x')
    const others = ['HEAD^{tree}', 'full', 'HEAD:a'].map((name) => place.git(source, 'rev-parse', name))
    for (const id of [...others, '0'.repeat(40), '0123456789012345678901234567890123456789'])
      await expect(clone(source, id, shallow)).rejects.toMatchObject({
        code: 'source_failed',
        message: `${source}: there is no commit ${id}`,
      })
  })

  test('what belongs to somebody else', async () => {
    execFileSync('chown', ['-R', '4321:4321', source])
    expect((await clone(source, null, shallow)).log).toEqual(whole('commit 2', 'commit 1'))
  })

  test('a tree of another owner, who finds it as it should be', async () => {
    const resolved = await repositories.resolve({ url: source, ref: null })
    const into = place.empty()
    fs.chownSync(into, 65534, 65534)
    await repositories.clone({ url: source, resolved, shallow, into })
    const asOwner = ['--reuid=65534', '--regid=65534', '--clear-groups', 'git', '-C', into, 'status', '--porcelain']
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' }
    expect(execFileSync('setpriv', asOwner, { encoding: 'utf8', env })).toBe('')
    for (const name of ['.git', '.git/config', '.git/objects/pack', 'a'])
      expect(fs.statSync(join(into, name)).uid).toBe(65534)
  })

  test('as an ordinary user', async () => {
    const [root, into] = [place.empty(), place.empty()]
    for (const path of [root, into]) fs.chownSync(path, 65534, 65534)
    const program = fileURLToPath(new URL('../../support/programs/git-clone.ts', import.meta.url))
    const user = ['--reuid=65534', '--regid=65534', '--clear-groups', process.execPath]
    const args = [...user, program, join(root, 'mirrors'), source, '-', String(shallow), into]
    const printed = execFileSync('setpriv', args, { encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: root } })
    expect(JSON.parse(printed)).toEqual([{ branch: 'main', files: 2, bytes: 2, submodules: [], lfs: 0, ...refs }])
    expect(treeIn(into)).toEqual({ a: '1', b: '2' })
  })

  test('a repository with longer ids', async () => {
    const long = place.path('long')
    place.git(place.base, 'init', '--quiet', '--object-format=sha256', '--initial-branch=main', long)
    const commit = addCommit(place, long, { x: 'y' }, 'long')
    expect(commit).toHaveLength(64)
    expect((await clone(long, null, shallow)).cloned).toMatchObject({ branch: 'main', files: 1 })
  })
})

/** A ref in a file of its own, whose object is in a pack. */
function loosen(tag: string): void {
  const id = place.git(source, 'rev-parse', tag)
  place.git(source, 'update-ref', '-d', `refs/tags/${tag}`)
  place.git(source, 'update-ref', `refs/tags/${tag}`, id)
}

test('of a repository with tags alone a tag is to be named', async () => {
  place.git(source, 'tag', 'v1')
  fs.writeFileSync(join(source, '.git/HEAD'), 'ref: refs/heads/elsewhere\n')
  await expect(repositories.resolve({ url: source, ref: null })).rejects.toMatchObject({
    message: expect.stringMatching('the branch that the repository is on has no commit yet') as unknown,
    hint: 'Name a branch: main',
    data: { known: ['main', 'v1'] },
  })
  place.git(source, 'branch', '-D', 'main')
  const refusal = { code: 'source_failed', hint: 'It has no branch; name a tag: v1' }
  await expect(repositories.resolve({ url: source, ref: null })).rejects.toMatchObject(refusal)
})

test('a name that a branch and a tag have is told once', async () => {
  place.git(source, 'tag', 'main')
  const refusal = { hint: 'There are: main', data: { known: ['main'] } }
  await expect(repositories.resolve({ url: source, ref: 'other-thing' })).rejects.toMatchObject(refusal)
})

test('a branch is looked up without starting git', async () => {
  const path = process.env['PATH']
  process.env['PATH'] = place.path('nowhere')
  try {
    expect(await repositories.resolve({ url: source, ref: null })).toMatchObject({ ref: 'refs/heads/main' })
    await expect(
      repositories.clone({
        url: source,
        resolved: await repositories.resolve({ url: source, ref: 'main' }),
        shallow: true,
        into: place.empty(),
      }),
    ).rejects.toMatchObject({
      code: 'source_failed',
      message: 'git is not installed',
    })
  } finally {
    process.env['PATH'] = path
  }
})

test('submodules are named and left empty, pointers of git-lfs are counted and left as they are', async () => {
  const inner = makeSource(place, 'inner', { x: 'y' })
  place.git(source, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', inner, 'lib/inner')
  const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0000\nsize 12345\n'
  addCommit(place, source, { '.gitattributes': '*.bin filter=lfs diff=lfs\n', 'big.bin': pointer }, 'more')
  const { cloned, into } = await clone(source, null, false)
  expect(cloned).toMatchObject({ submodules: ['lib/inner'], lfs: 1 })
  expect(fs.readdirSync(join(into, 'lib/inner'))).toEqual([])
  expect(fs.readFileSync(join(into, 'big.bin'), 'utf8')).toBe(pointer)
})

test.each([
  ['/nonexistent/repository', 'no such directory'],
  ['/etc', 'not a git repository'],
])('%s is told to be none', async (url, why) => {
  await expect(repositories.resolve({ url, ref: null })).rejects.toMatchObject({
    code: 'source_failed',
    message: expect.stringContaining(why) as string,
  })
})

test('a directory of a work tree is told with the repository that it is of', async () => {
  const inside = join(source, 'deep/down')
  fs.mkdirSync(inside, { recursive: true })
  await expect(repositories.identify(inside)).rejects.toMatchObject({
    code: 'source_failed',
    hint: expect.stringContaining(`It is a directory of the repository ${source}:`) as string,
  })
})

test('names and contents of every kind come over as they are', async () => {
  const odd = { 'a b/ü\n"x"': '\0binary\u00ff', 'link-like': '../../etc/passwd', empty: '' }
  addCommit(place, source, odd, 'odd')
  fs.symlinkSync('/etc/passwd', join(source, 'link'))
  fs.writeFileSync(join(source, 'run.sh'), '#!/bin/sh\n', { mode: 0o755 })
  place.git(source, 'add', '--all')
  place.git(source, 'commit', '--quiet', '-m', 'link')
  const { into } = await clone(source, null, true)
  expect(treeIn(into)).toEqual(treeIn(source))
  expect(fs.statSync(join(into, 'run.sh')).mode & 0o111).toBe(0o111)
})

test('refs in tables are read by a git that knows them, and refused by name without one', async () => {
  const tables = place.path('tables')
  const minor = Number(/^git version 2\.(\d+)/.exec(execFileSync('git', ['--version'], { encoding: 'utf8' }))?.[1])
  if (minor >= 45) {
    place.git(place.base, 'init', '--quiet', '--ref-format=reftable', '--initial-branch=main', tables)
    addCommit(place, tables, { t: '1' }, 'first')
    expect((await clone(tables, null, true)).cloned).toMatchObject({ branch: 'main', files: 1 })
  } else {
    fs.cpSync(source, tables, { recursive: true })
    fs.mkdirSync(join(tables, '.git/reftable'))
    fs.writeFileSync(join(tables, '.git/reftable/tables.list'), '')
    await expect(repositories.resolve({ url: tables, ref: null })).rejects.toMatchObject({
      code: 'source_failed',
      hint: 'Install git 2.45.1 or newer',
    })
  }
})
