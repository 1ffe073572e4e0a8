import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Aw } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { sh } from '../sandbox/exec/run-script.ts'
import { makeRepository, openGround } from '../sources/fixture.ts'
import { git } from './fixture.ts'

/** What a sandbox makes to be mounted on: nobody's work, also in a snapshot that is taken meanwhile. */
const made = ['.claude', '.mcp.json']
const protectedNames = { 'sandbox.protect': made.join(',') }

const names = async (aw: Aw, id: string): Promise<string[]> =>
  (await aw.fs.list(id, { path: 'work' })).entries.map(({ path }) => path.slice('work/'.length))

const diff = async (aw: Aw, from: string, to?: string): Promise<string[]> =>
  (await collect(aw.manager.stream('diff', { from, to }))).map(({ change, path }) => `${change} ${path}`)

it('a snapshot of a workspace with a sandbox brings nothing along that was only the sandbox’s', async () => {
  const { aw, base } = await openGround(protectedNames)
  await aw.create({ id: 'task', repo: makeRepository({ base }) })
  const files = await names(aw, 'task')
  const { id: start } = await aw.snapshot('task')
  await aw.start('task')
  await sh(aw, 'task', 'echo new > new')
  expect(await names(aw, 'task')).toEqual([...files, ...made, 'new'].toSorted())
  const { id: first } = await aw.snapshot('task')
  const { id: second } = await aw.snapshot('task')
  expect(await diff(aw, first, second)).toEqual([])
  await aw.stop('task')
  expect(await names(aw, 'task')).toEqual([...files, 'new'].toSorted())
  expect(await diff(aw, 'task@head')).toEqual([])
  expect(await diff(aw, start, second)).toEqual(['added work/new'])

  await aw.fork('task', { to: ['fork'], at: first })
  expect(await names(aw, 'fork')).toEqual([...files, 'new'].toSorted())
  expect(await diff(aw, 'fork')).toEqual([])
  await aw.fork('fork', { to: ['second-fork'], at: 'base' })
  expect(await names(aw, 'second-fork')).toEqual([...files, 'new'].toSorted())
  expect((await aw.reset('fork')).name).toBe('fork/main')
  expect(await names(aw, 'fork')).toEqual([...files, 'new'].toSorted())

  await sh(aw, 'task', 'echo changed > new; echo more > more')
  expect(await aw.restore('task', first)).toMatchObject({ added: 0, changed: 1, removed: 1 })
  expect(await names(aw, 'task')).toEqual([...files, 'new'].toSorted())
  // The tree is as the restore left it, so what is taken back is the restore.
  await aw.undo('task')
  expect(await names(aw, 'task')).toEqual([...files, 'more', 'new'].toSorted())
  await aw.restore('task', first, { paths: ['work'] })
  expect(await names(aw, 'task')).toEqual([...files, 'new'].toSorted())

  const repo = makeRepository({ base }, 'target')
  await aw.export({ of: `task@${first}`, branch: 'agent', repo })
  expect(git(repo, ['ls-tree', '-r', '--name-only', 'agent']).split('\n')).toEqual(['README', 'new', 'src/main.ts'])
  await aw.cp({ from: `task@${first}:work`, to: join(base, 'out') })
  expect(fs.readdirSync(join(base, 'out')).toSorted()).toEqual([...files, 'new'].toSorted())
})

it('what somebody made of it stays, and so does what was there before', { timeout: 60_000 }, async () => {
  const { aw } = await openGround(protectedNames)
  await aw.create({ id: 'task' })
  const { id: start } = await aw.snapshot('task')
  await aw.fs.write('task', { path: 'work/.mcp.json', content: '' })
  await aw.start('task')
  await aw.fs.write('task', { path: 'work/.claude/settings.json', content: '{}' })
  const { id: snapshot } = await aw.snapshot('task')
  await aw.fork('task', { to: ['fork'], at: snapshot })
  expect(await names(aw, 'fork')).toEqual(expect.arrayContaining(made))
  await sh(aw, 'task', 'echo x > x')
  await aw.restore('task', snapshot, { include_active: true })
  expect(await names(aw, 'task')).toEqual(expect.arrayContaining(made))
  expect(await diff(aw, start, snapshot)).toEqual(['added work/.claude/settings.json', 'added work/.mcp.json'])
})
