import * as fs from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from 'vitest'
import { codeOf, git, type Ground, makeRepository, openGround } from './fixture.ts'

/** A limit on a repository holds for all that comes from it, by whatever way. There is room for one workspace. */

const config = { max_size_mb: 4 }
const room = { 'space.per_repo_mb': '4', 'workspaces.max_size_mb': '4' }
let ground: Ground
let repo: string

beforeEach(async () => {
  ground = await openGround(room)
  repo = makeRepository(ground)
})

it('a path is one repository, however it is spelled', async () => {
  const { aw, base } = ground
  const link = join(base, 'link')
  fs.symlinkSync(repo, link)
  const made = await aw.create({ id: 'one', repo: `${base}//link/.git/`, config })
  expect(made.source).toMatchObject({ url: repo })
  for (const spelled of [repo, link, `${repo}/`, `${repo}/.git`, `${base}/./repository`, `${base}/home/../link`])
    expect(await codeOf(aw.create({ id: 'two', repo: spelled, config }))).toBe('limit_reached')
  expect((await aw.usage({})).limits).toMatchObject([{ what: 'repository', of: repo, reserved_mb: 4 }])
  await aw.destroy('one')
  expect(await codeOf(aw.create({ id: 'two', repo: link, config }))).toBe('done')
})

it('what a link led to is what is used, wherever it leads later', async () => {
  const { aw, base } = ground
  const link = join(base, 'link')
  fs.symlinkSync(repo, link)
  await aw.create({ id: 'one', repo: link, config })
  fs.rmSync(link)
  expect((await aw.reset('one')).source).toMatchObject({ url: repo })
})

it('a path with nothing at its end is told as it was given', async () => {
  const { aw, base } = ground
  const missing = join(base, 'missing')
  await expect(aw.create({ id: 'one', repo: missing, config })).rejects.toMatchObject({
    code: 'source_failed',
    message: expect.stringContaining(missing) as string,
  })
})

it('one that could not be had yet counts to its repository, though a link was named', async () => {
  const { aw, base } = ground
  const link = join(base, 'link')
  fs.symlinkSync(repo, link)
  expect(await codeOf(aw.create({ id: 'late', repo: link, ref: 'later', config }))).toBe('source_failed')
  fs.rmSync(link)
  expect(await codeOf(aw.create({ id: 'one', repo, config }))).toBe('limit_reached')
  git(repo, 'branch', 'later')
  expect((await aw.reset('late')).source).toMatchObject({ url: repo })
})

it('workspaces from a template count to the repository that it came from', async () => {
  const { aw } = ground
  await aw.template.create({ name: 'plain', repo })
  const one = await aw.create({ id: 'one', template: 'plain' })
  expect(one.source).toMatchObject({ kind: 'template', repository: repo })
  await aw.template.create({ name: 'of-a-workspace', from_workspace: 'one' })
  for (const template of ['plain', 'of-a-workspace'])
    expect(await codeOf(aw.create({ id: 'two', template }))).toBe('limit_reached')
  await aw.destroy('one')
  expect((await aw.create({ id: 'two', template: 'of-a-workspace' })).source).toMatchObject({ repository: repo })
  expect(await codeOf(aw.create({ id: 'three', repo, config }))).toBe('limit_reached')
})

it('so does what was exported and imported, and a template of that', async () => {
  const { aw, base } = ground
  await aw.create({ id: 'one', repo, config })
  const file = join(base, 'one.aw.tar.zst')
  await aw.export({ of: 'one', file })
  expect(await codeOf(aw.import({ file, id: 'two' }))).toBe('limit_reached')
  await aw.template.create({ name: 'packed', from: { archive: file } })
  expect(await codeOf(aw.create({ id: 'two', template: 'packed' }))).toBe('limit_reached')
  await aw.destroy('one')
  const { source } = await aw.import({ file, id: 'two' })
  expect(source).toMatchObject({ kind: 'archive', repository: repo })
  expect(await codeOf(aw.create({ id: 'three', repo, config }))).toBe('limit_reached')
})
