import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { codeOf, hasBases, makeRepository, openGround } from './fixture.ts'

const isRoot = process.getuid?.() === 0
const own = `${process.getuid?.()}:${process.getgid?.()}`
const theirs = (uid: number): string => (isRoot ? `${uid}:${uid}` : own)
const usual = theirs(61_000)

/** Everyone whom something in a tree belongs to. */
function ownersIn(path: string): string[] {
  const told = execFileSync('find', [fs.realpathSync.native(path), '-printf', '%U:%G\\n'], { encoding: 'utf8' })
  return [...new Set(told.trim().split('\n'))].toSorted()
}

/** All that a folder can have, of several owners if we may. */
function makeFolder(base: string): string {
  const folder = join(base, 'folder')
  fs.mkdirSync(join(folder, 'deep', 'er'), { recursive: true })
  fs.writeFileSync(join(folder, 'file'), 'one')
  fs.writeFileSync(join(folder, 'deep', 'file'), 'two')
  fs.linkSync(join(folder, 'file'), join(folder, 'deep', 'twin'))
  fs.symlinkSync('file', join(folder, 'link'))
  if (isRoot) fs.chownSync(join(folder, 'deep', 'file'), 65_534, 65_534)
  return folder
}

const git = { git_config: { enabled: true } }

it('whatever a workspace is made from, all of it belongs to one user, and never to root', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const folder = makeFolder(base)
  const archive = join(base, 'archive.tar')
  execFileSync('tar', ['-cf', archive, '-C', folder, 'deep/er', 'deep/file', 'link'])
  await aw.template.create({ name: 'page', from: { folder } })
  const made = [
    await aw.create({ id: 'empty', config: { ...git, claude_md: 'Be kind' } }),
    await aw.create({ id: 'folder', from: { folder } }),
    await aw.create({ id: 'again', from: { folder } }),
    await aw.create({ id: 'git', repo: makeRepository(ground) }),
    await aw.create({ id: 'archive', from: { archive } }),
    await aw.create({ id: 'template', template: 'page' }),
    await aw.create({ id: 'fork', from_workspace: 'folder' }),
    await aw.create({ id: 'session', profile: 'session', config: git }),
  ]
  expect(made.map(({ path }) => ownersIn(path))).toEqual(made.map(() => [usual]))
  const shared = await aw.shared.create({ name: 'models' })
  expect(ownersIn(shared.path)).toEqual([usual])
})

it('so does what comes later, and what was brought up to date', async () => {
  const { aw, base } = await openGround()
  const folder = makeFolder(base)
  const { path } = await aw.create({ id: 'one', from: { folder } })
  await aw.cp({ from: folder, to: 'one:work/new/copy' })
  await aw.cp({ from: join(folder, 'link'), to: 'one:work/', replace: true })
  await aw.fs.write('one', { path: 'work/a/b/c', content: 'written' })
  await aw.fs.append('one', { path: 'work/a/d', content: 'appended' })
  await aw.fs.mkdir('one', { path: 'work/f/g', parents: true })
  await aw.fs.copy('one', { from: 'work/new', to: 'work/newer', recursive: true })
  await aw.fs.copy('one', { from: 'work/link', to: 'work/other-link' })
  await aw.rename('one', { to: 'renamed' })
  expect(ownersIn(path.replace(/one\/main$/, 'renamed/main'))).toEqual([usual])
  fs.writeFileSync(join(folder, 'deep', 'er', 'later'), 'three')
  fs.mkdirSync(join(folder, 'late'))
  const two = await aw.create({ id: 'two', from: { folder } })
  expect(two.base === null).toBe(!hasBases)
  expect(ownersIn(two.path)).toEqual([usual])
  await aw.snapshot('two', { label: 'first' })
  fs.rmSync(join(two.path, 'work', 'deep'), { recursive: true })
  await aw.restore('two', { snapshot: 'first' })
  expect(ownersIn(two.path)).toEqual([usual])
})

it('an agent’s own files keep their owner wherever a tree goes, and come out as the user’s', async () => {
  const { aw, base } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  fs.writeFileSync(join(path, 'work', 'file'), 'of whoever wrote it')
  const kept = ownersIn(path)
  const { path: fork } = await aw.create({ id: 'fork', from_workspace: 'one' })
  expect(ownersIn(fork)).toEqual(kept)
  await aw.cp({ from: 'one:work', to: join(base, 'out') })
  expect(ownersIn(join(base, 'out'))).toEqual([own])
  await aw.cp({ from: 'one:work', to: 'fork:copy' })
  expect(ownersIn(join(fork, 'copy'))).toEqual([usual])
})

it('the user can be another one; then nothing begins as what belongs to the former', async () => {
  const ground = await openGround({ 'workspaces.uid': '62000' })
  const { aw, base, home } = ground
  const folder = makeFolder(base)
  expect(ownersIn((await aw.create({ id: 'one', from: { folder } })).path)).toEqual([theirs(62_000)])
  await aw[Symbol.asyncDispose]()
  const { aw: later } = await openGround({}, home)
  expect(ownersIn((await later.create({ id: 'two', from: { folder } })).path)).toEqual([usual])
  expect(ownersIn((await later.create({ id: 'three', from_workspace: 'one' })).path)).toEqual([theirs(62_000)])
})

it('root, and what is no user id, is refused', async () => {
  const opening = openGround({ 'workspaces.uid': '0' }).then(() => undefined)
  expect(await codeOf(opening)).toBe('invalid_config')
  expect(await codeOf(openGround({ 'workspaces.uid': '4294967295' }))).toBe('invalid_config')
})
