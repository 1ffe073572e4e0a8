import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { collect } from '../support/collect.ts'
import { codeOf, commit, contentOf, git, hasBases, makeRepository, openGround } from './fixture.ts'

/** What a base is called is what it holds, and what a workspace says it was made from is what it was made from. */

function makeArchive(base: string, name: string, text: string): string {
  const folder = fs.mkdtempSync(join(base, 'packed-'))
  fs.writeFileSync(join(folder, 'state'), text)
  const file = join(base, name)
  execFileSync('tar', ['--mtime=@0', '--owner=0', '--group=0', '-cf', file, '-C', folder, 'state'])
  return file
}

it('a workspace from an archive has its own file, and needs it no more once there is a base', async () => {
  const { aw, base } = await openGround()
  const one = makeArchive(base, 'one.tar', 'one')
  const copy = join(base, 'copy.tar')
  fs.copyFileSync(one, copy)
  await aw.create({ id: 'first', from: { archive: one } })
  const second = await aw.create({ id: 'second', from: { archive: copy } })
  expect(second.source).toMatchObject({ path: copy })
  fs.copyFileSync(makeArchive(base, 'two.tar', 'two'), one)
  expect(contentOf(await aw.reset('second'), 'state')).toBe('one')
  // Another one under the old name is not what the first was made from.
  if (hasBases) expect(contentOf(await aw.reset('first'), 'state')).toBe('one')
  else expect(await codeOf(aw.reset('first'))).toBe('source_failed')
  expect(contentOf(await aw.get('first'), 'state')).toBe('one')
  expect(contentOf(await aw.create({ id: 'third', from: { archive: one } }), 'state')).toBe('two')
})

it('what was asked for is told as each one asked', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const [plain, named] = [await aw.create({ id: 'plain', repo }), await aw.create({ id: 'named', repo, ref: 'main' })]
  expect([plain.source['ref'], named.source['ref']]).toEqual([null, 'main'])
  expect(named).toMatchObject({ base: plain.base, source: { branch: 'main', lfs: 0 } })
})

it('a clone with all of it has all branches and tags of the day', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const one = await aw.create({ id: 'one', repo, full: true })
  expect((await aw.create({ id: 'same', repo, full: true })).base).toBe(one.base)
  git(repo, 'tag', 'later', 'v1')
  git(repo, 'branch', 'new', 'v1')
  const two = await aw.create({ id: 'two', repo, full: true })
  const refs = git(join(two.path, 'work'), 'for-each-ref', '--format=%(refname)')
  expect(refs).toContain('refs/tags/later')
  expect(refs).toContain('refs/remotes/origin/new')
  expect(git(join(two.path, 'work'), 'rev-parse', 'HEAD')).toBe(git(join(one.path, 'work'), 'rev-parse', 'HEAD'))
})

it('a name that workspaces began as is not given to something else', async () => {
  const { aw, base } = await openGround()
  const starter = join(base, 'starter')
  fs.mkdirSync(starter)
  fs.writeFileSync(join(starter, 'state'), 'one')
  const first = await aw.template.create({ name: 'page', from: { folder: starter } })
  await aw.create({ id: 'old', template: 'page' })
  await aw.template.remove({ name: 'page' })
  fs.writeFileSync(join(starter, 'state'), 'two')
  const again = await aw.template.create({ name: 'page', from: { folder: starter } })
  expect(again.version).toBeGreaterThan(first.version)
  expect(contentOf(await aw.reset('old'), 'state')).toBe('one')
  expect(contentOf(await aw.create({ id: 'new', template: 'page' }), 'state')).toBe('two')

  const folder = await aw.create({ id: 'folder', from: { folder: starter } })
  if (folder.base !== null) await aw.bases.remove({ name: folder.base, force: true })
  fs.writeFileSync(join(starter, 'state'), 'three')
  const newer = await aw.create({ id: 'newer', from: { folder: starter } })
  if (hasBases) expect(newer.base).not.toBe(folder.base)
  expect(await codeOf(aw.bases.remove({ name: '' }))).toBe('invalid_input')
})

it('what cannot be filled in is told when a template is made', async () => {
  const { aw, base } = await openGround()
  const starter = join(base, 'starter')
  fs.mkdirSync(starter)
  fs.writeFileSync(Buffer.from(`${starter}/a\xffb`, 'latin1'), '{{title}} under a name that is no text')
  fs.writeFileSync(join(starter, 'two\nlines'), '{{title}} under a name that nobody can ask for')
  fs.writeFileSync(join(starter, 'plain'), '{{title}}')
  const variables = { title: 'x' }
  const from = { folder: starter }
  expect((await aw.template.create({ name: 'odd', from, variables })).files).toEqual(['work/plain'])
  const { path } = await aw.create({ id: 'shut', from })
  fs.writeFileSync(join(path, 'work', 'shut'), 'nobody reads this', { mode: 0o000 })
  const shut = await aw.template.create({ name: 'shut', from: { workspace: 'shut' }, variables })
  expect(shut.files).toEqual(['work/plain'])
  fs.linkSync(join(starter, 'plain'), join(starter, 'twin'))
  expect(await codeOf(aw.template.create({ name: 'twins', from, variables }))).toBe('invalid_input')
  expect((await aw.template.list()).map(({ name }) => name)).toEqual(['odd', 'shut'])
})

it('a folder that a process died over can be used again at once', async () => {
  const ground = await openGround()
  const { aw, home } = ground
  const folder = makeRepository(ground)
  await aw.create({ id: 'one', from: { folder } })
  commit(folder, 'README', 'changed\n')
  const program = join(import.meta.dirname, '../crash/program.ts')
  const input = JSON.stringify({ id: 'dies', from: { folder } })
  for (const point of [12, 16, 20, 24, 28]) {
    try {
      execFileSync(process.execPath, [program, 'call', home, 'create', input], {
        env: { ...process.env, AW_CRASH_AT: String(point) },
        stdio: 'ignore',
      })
    } catch {
      // It was killed, as it was told.
    }
    expect(contentOf(await aw.ensure(`after-${point}`, { from: { folder } }), 'README')).toBe('changed\n')
  }
})

it('what was filled into a template is part of what a workspace began as, for a diff, a patch and a copy', async () => {
  const { aw, base } = await openGround()
  const folder = join(base, 'starter')
  fs.mkdirSync(join(folder, 'docs'), { recursive: true })
  fs.writeFileSync(join(folder, 'docs', 'README'), 'about {{title}}\n')
  // An agent's file may be filled in, and get a block of aw's besides.
  fs.writeFileSync(join(folder, 'CLAUDE.md'), 'We make {{title}}\n')
  await aw.template.create({ name: 'page', from: { folder }, profile: 'repo', variables: { title: '' } })
  const config = { claude_md: 'Be brief' }
  const { path } = await aw.create({ id: 'a', template: 'page', variables: { title: 'clocks' }, config })
  expect(fs.readFileSync(join(path, 'CLAUDE.md'), 'utf8')).toContain('We make clocks\n\n<!-- aw:begin')
  const changes = () => collect(aw.diff('a', undefined, { text: true }))
  expect(await changes()).toEqual([])
  expect(await aw.export({ of: 'a', patch: true })).toMatchObject({ files: 0 })

  const began = await aw.export({ of: 'a@base', file: join(base, 'began.aw') })
  expect(contentAt((await aw.import({ file: began.file ?? '', id: 'b' })).path)).toBe('about clocks\n')
  for (const [source, file] of [
    ['docs/README', 'README'],
    ['docs', 'copied'],
    ['.', 'whole'],
  ] as const)
    await aw.cp({ from: `a@base:${source}`, to: join(base, file) })
  const copies = ['README', 'copied/README', 'whole/docs/README'].map((file) => join(base, file))
  expect(copies.map((file) => fs.readFileSync(file, 'utf8'))).toEqual(copies.map(() => 'about clocks\n'))

  fs.appendFileSync(join(path, 'docs', 'README'), 'and more\n')
  const [change, ...others] = await changes()
  expect(change).toMatchObject({ path: 'docs/README', before: { size: 13 }, after: { size: 22 } })
  expect(change?.text).toContain(' about clocks\n+and more\n')
  expect(others).toEqual([])
  expect(await aw.export({ of: 'a', patch: true })).toMatchObject({ files: 1 })
})

const contentAt = (path: string): string => fs.readFileSync(join(path, 'docs', 'README'), 'utf8')
