import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Inputs } from '../../src/api/table.ts'
import { sh } from '../sandbox/exec/run-script.ts'
import { git, hasBases, openGround, type Ground } from '../sources/fixture.ts'
import { git as plainGit } from './fixture.ts'

/** What every workspace here begins with, and what `git apply` is tried on. */
function makeFolder({ base }: Ground): string {
  const folder = join(base, 'folder')
  fs.mkdirSync(join(folder, 'd'), { recursive: true })
  for (const [name, content] of Object.entries({ a: 'one\n', 'd/b': 'two\n', c: 'three\n', k: 'kept\n' }))
    fs.writeFileSync(join(folder, name), content)
  return folder
}

type Create = Partial<Inputs['create']>

interface Made {
  readonly create: Create
  /** Takes away what the contents came from. */
  readonly lose?: () => void
}

const sources: Readonly<Record<string, (ground: Ground, folder: string) => Promise<Made>>> = {
  'a folder': async (_, folder) => ({
    create: { from: { folder } },
    lose: () => fs.rmSync(folder, { recursive: true }),
  }),
  async 'a repository'({ base }, folder) {
    const repo = join(base, 'repository')
    fs.cpSync(folder, repo, { recursive: true })
    git(repo, 'init', '--quiet')
    git(repo, 'add', '--all')
    git(repo, 'commit', '--quiet', '--message', 'first')
    return { create: { repo } }
  },
  async 'an archive'({ aw, base }, folder) {
    const archive = join(base, 'a.aw')
    await aw.create({ id: 'packed', from: { folder } })
    await aw.export({ of: 'packed', file: archive })
    await aw.destroy('packed', { purge: true })
    return { create: { from: { archive } }, lose: () => fs.rmSync(archive) }
  },
  async 'a template'({ aw }, folder) {
    await aw.template.create({ name: 'page', from: { folder } })
    return { create: { template: 'page' } }
  },
  async 'another workspace'({ aw }, folder) {
    await aw.create({ id: 'other', from: { folder } })
    return { create: { from: { workspace: 'other' } } }
  },
  async "another workspace's snapshot"({ aw }, folder) {
    await aw.create({ id: 'other', from: { folder } })
    const { id } = await aw.snapshot('other')
    await sh(aw, 'other', 'echo later > later')
    return { create: { from: { workspace: 'other' }, at: id } }
  },
}

const told = async ({ aw }: Ground, id: string): Promise<string[]> =>
  (await aw.diff(id)).map(({ path, change, what }) => [change, path, ...what].join(' '))

const edits = 'echo ONE > a; rm d/b; echo new > n; chmod +x k'
const changes = ['changed work/a content', 'removed work/d/b', 'changed work/k mode', 'added work/n']

async function patchOf({ aw }: Ground, of: string) {
  const { patch, left_out } = await aw.export({ of, patch: true })
  return { patch: Buffer.from((patch ?? '') as Uint8Array), left_out }
}

it.each(Object.entries(sources))('what changed since it began as %s is told without a snapshot', async (_, source) => {
  const ground = await openGround()
  const { aw, base } = ground
  const folder = makeFolder(ground)
  const target = join(base, 'target')
  fs.cpSync(folder, target, { recursive: true })
  const { create } = await source(ground, folder)
  await aw.create({ id: 'x', ...create })
  expect(await aw.diff('x')).toEqual([])
  expect(await aw.describe('x')).toMatchObject({ changes: 0 })

  await sh(aw, 'x', edits)
  expect(await told(ground, 'x')).toEqual(changes)
  const before = await aw.describe('x')
  if (before.head === null || create.from !== undefined) expect(before).toMatchObject({ dirty: true, changes: 4 })
  const [a, b] = await aw.diff('x', undefined, { text: true })
  expect(a?.text).toContain('\n-one\n+ONE\n')
  expect(b?.text).toContain('\n-two\n')

  const { patch, left_out } = await patchOf(ground, 'x')
  expect(left_out).toEqual([])
  plainGit(target, ['apply'], { input: patch })
  expect(fs.readFileSync(join(target, 'a'), 'utf8')).toBe('ONE\n')
  expect(fs.readdirSync(target).toSorted()).toEqual(['a', 'c', 'k', 'n'])
  expect(fs.statSync(join(target, 'k')).mode & 0o111).toBe(0o111)
})

it.each(Object.entries(sources).filter(([name]) => ['a folder', 'an archive'].includes(name)))(
  'without %s changes are told all the same, and what is missing of the earlier content',
  async (_, source) => {
    const ground = await openGround()
    const { aw } = ground
    const { create, lose } = await source(ground, makeFolder(ground))
    await aw.create({ id: 'x', ...create })
    await sh(aw, 'x', edits)
    lose?.()
    expect(await told(ground, 'x')).toEqual(changes)
    expect(await aw.describe('x')).toMatchObject({ changes: 4 })
    const [a] = await aw.diff('x', undefined, { text: true })
    const { patch, left_out } = await patchOf(ground, 'x')
    const kept = plainGit(ground.base, ['apply', '--numstat'], { input: patch }).split('\n')
    if (hasBases) {
      expect(a?.text).toContain('\n-one\n+ONE\n')
      expect([kept, left_out]).toEqual([['1\t1\ta', '0\t1\td/b', '0\t0\tk', '1\t0\tn'], []])
      return
    }
    expect(a).toMatchObject({ change: 'changed', omitted: 'The earlier content of work/a was not kept' })
    const reason = 'its earlier content was not kept'
    expect(left_out).toEqual(['a', 'd/b'].map((path) => ({ path, reason })))
    expect(kept).toEqual(['0\t0\tk', '1\t0\tn'])
  },
)

it('a change that leaves size and time as they were is told, and one that leaves the content is not', async () => {
  const ground = await openGround()
  const { aw } = ground
  await aw.create({ id: 'x', from: { folder: makeFolder(ground) } })
  await sh(aw, 'x', 'touch -r a /tmp/t; echo two > a; touch -r /tmp/t a; cp c c2; mv c2 c; touch -d 2020-01-01 d/b')
  expect(await told(ground, 'x')).toEqual(['changed work/a content'])
})

it('what aw itself puts into a workspace is no change', async () => {
  const ground = await openGround()
  const { aw } = ground
  const folder = makeFolder(ground)
  fs.writeFileSync(join(folder, 'CLAUDE.md'), '# Mine\n')
  const config = { claude_md: 'Be brief', git_config: { enabled: true } }
  await aw.create({ id: 'x', profile: 'repo', from: { folder }, config })
  expect(await told(ground, 'x')).toEqual([])
  await sh(aw, 'x', 'echo more >> CLAUDE.md; echo more >> .git/config')
  expect(await told(ground, 'x')).toEqual(['changed CLAUDE.md content'])
  const [{ text } = {}] = await aw.diff('x', undefined, { paths: ['CLAUDE.md'], text: true })
  expect(text).toContain('\n # Mine\n')
  expect(text).not.toContain('Be brief')
})

it('a repository that came with the folder is compared as the rest of it', async () => {
  const ground = await openGround()
  const folder = makeFolder(ground)
  git(folder, 'init', '--quiet')
  await ground.aw.create({ id: 'x', from: { folder }, config: { git_config: { enabled: true } } })
  expect(await told(ground, 'x')).toEqual([])
  await sh(ground.aw, 'x', 'echo "# more" >> .git/config')
  expect(await told(ground, 'x')).toEqual(['changed work/.git/config content'])
})

it('a file that it began with can be taken out again, and so can all of it', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const folder = makeFolder(ground)
  await aw.create({ id: 'x', from: { folder } })
  await sh(aw, 'x', edits)
  const taken = join(base, 'taken')
  await aw.manager.call('cp', { from: 'x@base:work/d', to: taken })
  expect(fs.readFileSync(join(taken, 'b'), 'utf8')).toBe('two\n')
  await aw.export({ of: 'x@base', file: join(base, 'began.aw') })
  await aw.create({ id: 'y', from: { archive: join(base, 'began.aw') } })
  expect(await told(ground, 'y')).toEqual([])
  expect((await aw.diff('x@base', 'y')).filter(({ path }) => path.startsWith('work/'))).toEqual([])
})

it('a reset begins anew, and a tree that comes back is compared with what it began as', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const folder = makeFolder(ground)
  await aw.create({ id: 'x', from: { folder } })
  await sh(aw, 'x', edits)
  await aw.destroy('x')
  await aw.undelete('x')
  expect(await told(ground, 'x')).toEqual(changes)
  fs.writeFileSync(join(folder, 'a'), 'changed meanwhile\n')
  await aw.reset('x')
  expect(await told(ground, 'x')).toEqual([])
  await sh(aw, 'x', 'echo ONE > a')
  const [{ text } = {}] = await aw.diff('x', undefined, { text: true })
  expect(text).toContain('\n-changed meanwhile\n+ONE\n')
  await aw.destroy('x', { purge: true })
  if (!hasBases) expect(fs.readdirSync(join(base, 'home/storage/bases'))).toEqual([])
})
