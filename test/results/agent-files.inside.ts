import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Aw } from '../../src/index.ts'
import { collect } from '../support/collect.ts'
import { sh } from '../sandbox/exec/run-script.ts'
import { commit, makeRepository, openGround, type Ground } from '../sources/fixture.ts'
import { git, gitBytes } from './fixture.ts'

/** What aw writes for agents into a tree is nobody's work, as long as nobody has changed it. */

const config = { claude_md: 'Be kind.' }
const project = '# Project\n\nRead this'

/** A repository with instructions of its own, which end without a newline. */
function withInstructions(ground: Ground): string {
  const repo = makeRepository(ground)
  commit(repo, 'CLAUDE.md', project)
  return repo
}

const changes = async (aw: Aw, from: string, to?: string): Promise<string[]> =>
  (await collect(aw.manager.stream('diff', { from, to }))).map(({ change, path }) => `${change} ${path}`)

const patchOf = async (aw: Aw, of: string): Promise<string> =>
  Buffer.from((await aw.export({ of, patch: true })).patch ?? new Uint8Array()).toString()

async function started(ground: Ground): Promise<{ aw: Aw; repo: string; first: string }> {
  const { aw } = ground
  const repo = withInstructions(ground)
  await aw.create({ id: 'task', profile: 'repo', repo, config })
  const { id: first } = await aw.snapshot('task')
  return { aw, repo, first }
}

const filesOf = (repo: string, branch: string): string[] =>
  git(repo, ['ls-tree', '-r', '--name-only', branch]).split('\n')

const textOf = (repo: string, name: string): string => gitBytes(repo, ['show', name]).toString()

it('the block of aw is in no diff, patch, branch, bundle or archive', async () => {
  const ground = await openGround()
  const { aw, repo, first } = await started(ground)
  for (const name of ['CLAUDE.md', 'AGENTS.md'])
    expect(Buffer.from(await aw.fs.read('task', { path: name })).toString()).toContain('Be kind.')
  expect(await changes(aw, 'task')).toEqual([])
  expect(await patchOf(aw, 'task')).toBe('')
  await aw.fs.write('task', { path: 'new', content: 'new\n' })
  expect(await changes(aw, 'task')).toEqual(['added new'])
  expect(await changes(aw, first, 'task')).toEqual(['added new'])
  expect((await patchOf(aw, 'task')).match(/^diff .*$/gm)).toEqual(['diff --git a/new b/new'])
  expect(await aw.export({ of: 'task', patch: true })).toMatchObject({ files: 1 })

  await aw.export({ of: 'task', branch: 'agent', repo })
  expect(filesOf(repo, 'agent')).toEqual(['CLAUDE.md', 'README', 'new', 'src/main.ts'])
  expect(textOf(repo, 'agent:CLAUDE.md')).toBe(project)
  const bundle = join(ground.base, 'task.bundle')
  await aw.export({ of: 'task', bundle })
  git(repo, ['fetch', '--quiet', bundle, 'task/main:bundled'])
  expect(filesOf(repo, 'bundled')).toEqual(filesOf(repo, 'agent'))

  const file = join(ground.base, 'task.aw.tar')
  await aw.export({ of: 'task', file })
  await aw.import({ file, id: 'back' })
  expect(Buffer.from(await aw.fs.read('back', { path: 'CLAUDE.md' })).toString()).toBe(project)
  expect((await aw.fs.list('back')).entries.map(({ path }) => path)).not.toContain('AGENTS.md')
})

it('nor in commits that were made with it, which are otherwise what they were', async () => {
  const ground = await openGround()
  const { aw, repo } = await started(ground)
  const say = 'git -c user.name=agent -c user.email=agent@localhost -c commit.gpgsign=false'
  await sh(aw, 'task', `${say} add -A && ${say} commit -qm 'all of it'`)
  await sh(aw, 'task', `echo new > new && ${say} add -A && ${say} commit -qm 'more of it'`)
  await sh(aw, 'task', 'echo later > later')
  await aw.export({ of: 'task', branch: 'agent', repo })
  expect(git(repo, ['log', '--format=%an %s', 'main..agent']).split('\n').slice(1)).toEqual(['agent more of it'])
  expect(git(repo, ['log', '--all', '-p']).includes('aw:begin')).toBe(false)
  expect(filesOf(repo, 'agent')).toEqual(['CLAUDE.md', 'README', 'later', 'new', 'src/main.ts'])
  expect(textOf(repo, 'agent:CLAUDE.md')).toBe(project)
  expect(await aw.export({ of: 'task', branch: 'agent', repo })).toMatchObject({ changed: false })
})

it('what was written around it is told without it', async () => {
  const ground = await openGround()
  const { aw, repo, first } = await started(ground)
  for (const name of ['CLAUDE.md', 'AGENTS.md']) {
    const found = Buffer.from(await aw.fs.read('task', { path: name })).toString()
    await aw.fs.write('task', { path: name, content: `${found}\nLearned.\n` })
  }
  const told = await collect(aw.manager.stream('diff', { from: first, to: 'task', text: true }))
  expect(told.map(({ change, path }) => `${change} ${path}`)).toEqual(['added AGENTS.md', 'changed CLAUDE.md'])
  for (const { text = '' } of told) {
    expect(text).toContain('+Learned.')
    expect(text).not.toContain('Be kind')
  }
  expect(told[0]).toMatchObject({ before: null, after: { size: '\nLearned.\n'.length } })
  await aw.export({ of: 'task', branch: 'agent', repo })
  expect(textOf(repo, 'agent:CLAUDE.md')).toBe(`${project}\nLearned.\n`)
  expect(textOf(repo, 'agent:AGENTS.md')).toBe('\nLearned.\n')
})

it('a block that somebody has changed or removed is shown', async () => {
  const ground = await openGround()
  const { aw, first } = await started(ground)
  const found = Buffer.from(await aw.fs.read('task', { path: 'CLAUDE.md' })).toString()
  await aw.fs.write('task', { path: 'CLAUDE.md', content: found.replace('kind', 'quick') })
  await aw.fs.remove('task', { path: 'AGENTS.md' })
  expect(await changes(aw, first, 'task')).toEqual(['removed AGENTS.md', 'changed CLAUDE.md'])
  const [, changed] = await collect(aw.manager.stream('diff', { from: first, to: 'task', text: true }))
  expect(changed?.text?.match(/^[-+][^-+].*$/gm)).toEqual(['-Be kind.', '+Be quick.'])
  expect(await patchOf(aw, 'task')).toContain('+Be quick.')
})

it('forks, resets and what is brought back know it too', async () => {
  const ground = await openGround()
  const { aw, repo } = await started(ground)
  await aw.fork('task', { to: ['fork'] })
  expect(await changes(aw, 'fork')).toEqual([])
  expect(await changes(aw, 'fork', 'task')).toEqual([])
  expect(await patchOf(aw, 'fork')).toBe('')
  await aw.rename('task', { to: 'other' })
  await aw.reset('other')
  expect((await changes(aw, 'other')).filter((told) => !told.includes('.git/'))).toEqual([])
  await aw.template.create({ name: 'page', from_workspace: 'other' })
  await aw.create({ id: 'page', profile: 'repo', template: 'page', config: { claude_md: 'Be brief.' } })
  expect(Buffer.from(await aw.fs.read('page', { path: 'CLAUDE.md' })).toString()).not.toContain('Be kind.')
  await aw.export({ of: 'other', branch: 'agent', repo })
  expect(git(repo, ['rev-parse', 'agent'])).toBe(git(repo, ['rev-parse', 'main']))
})

it('a block of another’s that came with the source is the source’s', async () => {
  const ground = await openGround()
  const { aw } = ground
  const repo = makeRepository(ground)
  const theirs = '<!-- aw:begin (written by aw; changes inside this block are lost) -->\nOld.\n<!-- aw:end -->\n'
  commit(repo, 'CLAUDE.md', theirs)
  await aw.create({ id: 'task', profile: 'repo', repo, config })
  expect(await patchOf(aw, 'task')).toBe('')
  expect(fs.readFileSync(join(repo, 'CLAUDE.md'), 'utf8')).toBe(theirs)
})
