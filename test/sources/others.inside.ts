import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openAw } from '../../src/index.ts'
import { readTree } from '../support/tree.ts'
import { codeOf, contentOf, hasBases, makeRepository, openGround } from './fixture.ts'

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
