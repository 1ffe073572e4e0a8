import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { verifyArchive } from '../../src/drivers/archives/archive/inspect.ts'
import type { CrashHome } from './home.ts'
import { git as plainGit, stateOf } from '../results/fixture.ts'
import { expectUnchanged, type Swept, workOf } from './sweep.ts'

/** What a repository of the user's was before anything was exported to it. */
const untouched = new Map<string, ReturnType<typeof stateOf>>()

const nothing = async (): Promise<undefined> => undefined
const byRecovery: Swept['touch'] = () => ['recover', {}]

function git(cwd: string, ...args: string[]): void {
  const settings = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'init.defaultBranch=main']
  execFileSync('git', [...settings, ...args], { cwd, env: { PATH: process.env['PATH'], HOME: '/nonexistent' } })
}

/** The folder of the home, with a history; another one for each name, so that each is fetched for the first time. */
function repository(crash: CrashHome, name: string): string {
  const folder = join(crash.source, '..', name)
  mkdirSync(folder)
  execFileSync('cp', ['-a', `${crash.source}/.`, folder])
  git(folder, 'init', '--quiet')
  git(folder, 'add', '--all')
  git(folder, 'commit', '--quiet', '--message', 'first')
  return folder
}

/** It is whole or not there; and where it is not, it can be made. */
const wholeOrFree =
  (input: Swept['input']): Swept['check'] =>
  async (crash, id, _before, done) => {
    const found = async () => (await crash.manager.call('list', { task: id }))[0]
    if (done) expect((await found())?.state).toBe('ready')
    const view = (await found()) ?? (await crash.manager.call('create', input(crash, id)))
    expect(view.state).toBe('ready')
    expect(workOf(view.path)).toMatchObject({ 'work/README': { content: 'from the source\n' } })
    await expectUnchanged(crash, id)
    await crash.manager.call('destroy', { id, purge: true })
  }

const fromGit: Swept['input'] = (crash, id) => ({ id, repo: join(crash.source, '..', `repository-${id}`) })
const archiveOf = (crash: CrashHome): string => join(crash.source, '..', 'archive.aw')
const fromArchive: Swept['input'] = (crash, id) => ({ id, from: { archive: archiveOf(crash) } })

const templateNames = async (crash: CrashHome): Promise<string[]> =>
  (await crash.manager.call('template list', {})).map(({ name, version }) => `${name}@${version}`)

const withSetup = (crash: CrashHome, name: string) => ({
  name,
  from: { folder: crash.source },
  setup: ['echo here > made', 'echo done'],
  setup_input: ['README'],
})

/** A workspace that begins as it has what the set-up made, and the set-up's words can be read. */
async function expectSetUp(crash: CrashHome, id: string, template: string): Promise<void> {
  const view = await crash.manager.call('create', { id, template })
  expect(workOf(view.path)).toMatchObject({
    'work/README': { content: 'from the source\n' },
    'work/made': { content: 'here\n' },
  })
  const { commands } = await crash.manager.call('template log', { name: template })
  expect(commands.map(({ output }) => Buffer.from(output as Uint8Array).toString())).toEqual(['', 'done\n'])
  await crash.manager.call('destroy', { id, purge: true })
}

const repositoryOf = (crash: CrashHome, id: string): string => join(crash.source, '..', `repository-${id}`)

/** A workspace of a repository of its own, with something that is not committed. */
async function changedWorkspace(crash: CrashHome, id: string) {
  const view = await crash.manager.call('create', { id, repo: repository(crash, `repository-${id}`), full: true })
  writeFileSync(join(view.path, 'work/README'), 'changed\n')
  writeFileSync(join(view.path, 'work/new'), 'new\n')
  untouched.set(id, stateOf(repositoryOf(crash, id)))
  return view
}

/**
 * A file for the user, in a directory of its own: whole or not there, and made again where it is not. What a killed
 * process leaves beside it has a name that tells so.
 */
function exportedFile(
  kind: 'patch' | 'bundle',
  fieldsOf: (file: string) => object,
  expectGood: (repository: string, file: string) => void,
): Swept {
  const folderOf = (crash: CrashHome, id: string): string => join(crash.source, '..', `${kind}-of-${id}`)
  const inputOf = (crash: CrashHome, id: string) => ({ of: id, ...fieldsOf(join(folderOf(crash, id), 'result')) })
  return {
    calls: 'export',
    async prepare(crash, id) {
      mkdirSync(folderOf(crash, id))
      return changedWorkspace(crash, id)
    },
    input: inputOf,
    touch: byRecovery,
    async check(crash, id, _before, done) {
      const [folder, repo] = [folderOf(crash, id), repositoryOf(crash, id)]
      const file = join(folder, 'result')
      expect(readdirSync(folder).filter((name) => name !== 'result' && !/^\.aw-.*\.tmp$/.test(name))).toEqual([])
      if (done) expect(readdirSync(folder)).toEqual(['result'])
      if (!existsSync(file)) await crash.manager.call('export', inputOf(crash, id))
      expectGood(repo, file)
      expect(stateOf(repo)).toEqual(untouched.get(id))
      await crash.manager.call('destroy', { id, purge: true })
    },
  }
}

function expectPatch(repo: string, file: string): void {
  expect(plainGit(repo, ['apply', '--numstat', file]).split('\n')).toEqual(['1\t1\tREADME', '1\t0\tnew'])
  plainGit(repo, ['apply', '--check', file])
}

function expectBundle(repo: string, file: string): void {
  plainGit(repo, ['bundle', 'verify', '-q', file])
  plainGit(repo, ['clone', '-q', file, `${file}-cloned`])
  expect(readFileSync(`${file}-cloned/README`, 'utf8')).toBe('changed\n')
}

export const sourceOperations: Readonly<Record<string, Swept>> = {
  'create from git': {
    calls: 'create',
    async prepare(crash, id) {
      repository(crash, `repository-${id}`)
      return undefined
    },
    input: fromGit,
    touch: (id) => ['create', { id }],
    async check(crash, id, before, done) {
      const [view] = await crash.manager.call('list', { task: id })
      // A write of the same name was what recovered it.
      if (view?.source['kind'] === 'empty') await crash.manager.call('destroy', { id, purge: true })
      await wholeOrFree(fromGit)(crash, id, before, done)
    },
  },
  'create from an archive': {
    calls: 'create',
    async prepare(crash, id) {
      if (existsSync(archiveOf(crash))) return undefined
      await crash.manager.call('create', { id: `origin-of-${id}`, from: { folder: crash.source } })
      await crash.manager.call('export', { of: `origin-of-${id}`, file: archiveOf(crash) })
      return undefined
    },
    input: fromArchive,
    touch: byRecovery,
    check: wholeOrFree(fromArchive),
  },
  export: {
    prepare: (crash, id) => crash.manager.call('create', { id, from: { folder: crash.source } }),
    input: (crash, id) => ({ of: id, file: join(crash.source, '..', `${id}.aw`) }),
    touch: byRecovery,
    async check(crash, id, _before, done) {
      const file = join(crash.source, '..', `${id}.aw`)
      if (done) expect(existsSync(file)).toBe(true)
      if (existsSync(file)) expect(await verifyArchive(file)).toMatchObject({ verified: true })
      rmSync(file, { force: true })
      await crash.manager.call('destroy', { id, purge: true })
    },
  },
  'export branch': {
    calls: 'export',
    async prepare(crash, id) {
      const repo = repository(crash, `repository-${id}`)
      const view = await crash.manager.call('create', { id, repo })
      writeFileSync(join(view.path, 'work/README'), 'changed\n')
      untouched.set(id, stateOf(repo))
      return view
    },
    input: (crash, id) => ({ of: id, branch: 'result', repo: join(crash.source, '..', `repository-${id}`) }),
    touch: byRecovery,
    async check(crash, id, _before, done) {
      const repo = join(crash.source, '..', `repository-${id}`)
      const [before, after] = [untouched.get(id), stateOf(repo)]
      expect(after.rest).toEqual(before?.rest)
      const made = after.refs.filter((ref) => !before?.refs.includes(ref))
      expect(made.every((ref) => ref.startsWith('refs/heads/result '))).toBe(true)
      expect(after.refs).toHaveLength((before?.refs.length ?? 0) + made.length)
      if (done) expect(made).toHaveLength(1)
      const again = await crash.manager.call('export', { of: id, branch: 'result', repo })
      expect(again.changed).toBe(made.length === 0)
      expect(plainGit(repo, ['show', 'result:README'])).toBe('changed')
      expect(plainGit(repo, ['fsck', '--strict', '--full', '--no-dangling'])).toBe('')
      await crash.manager.call('destroy', { id, purge: true })
    },
  },
  'export patch': exportedFile('patch', (file) => ({ patch: true, file }), expectPatch),
  'export bundle': exportedFile('bundle', (bundle) => ({ bundle }), expectBundle),
  'template create': {
    prepare: nothing,
    input: (crash, name) => ({ name, from: { folder: crash.source } }),
    touch: byRecovery,
    async check(crash, name, _before, done) {
      const there = (await templateNames(crash)).some((ref) => ref.startsWith(`${name}@`))
      if (done) expect(there).toBe(true)
      if (!there) await crash.manager.call('template create', { name, from: { folder: crash.source } })
      await wholeOrFree((_crash, id) => ({ id, template: name }))(crash, name, undefined, false)
      await crash.manager.call('template remove', { name })
    },
  },
  'template update': {
    async prepare(crash, name) {
      await crash.manager.call('template create', { name, from: { folder: crash.source } })
      return undefined
    },
    input: (crash, name) => ({ name, from: { folder: crash.source }, description: 'newer' }),
    touch: byRecovery,
    async check(crash, name, _before, done) {
      const { version } = await crash.manager.call('template show', { name })
      if (done) expect(version).toBe(2)
      for (const ref of [`${name}@1`, `${name}@${version}`])
        await wholeOrFree((_crash, id) => ({ id, template: ref }))(crash, name, undefined, false)
      await crash.manager.call('template update', { name, from: { folder: crash.source } })
      await crash.manager.call('template remove', { name })
      expect(await templateNames(crash)).toEqual([])
    },
  },
  'template create with a set-up': {
    calls: 'template create',
    prepare: nothing,
    input: withSetup,
    touch: byRecovery,
    async check(crash, name, _before, done) {
      const there = (await templateNames(crash)).some((ref) => ref.startsWith(`${name}@`))
      if (done) expect(there).toBe(true)
      if (!there) await crash.manager.call('template create', withSetup(crash, name))
      await expectSetUp(crash, name, name)
      await crash.manager.call('template remove', { name })
    },
  },
  'template update with a set-up': {
    calls: 'template update',
    async prepare(crash, name) {
      await crash.manager.call('template create', withSetup(crash, name))
      return undefined
    },
    input: (crash, name) => ({ ...withSetup(crash, name), setup_again: true }),
    touch: byRecovery,
    async check(crash, name, _before, done) {
      const { version } = await crash.manager.call('template show', { name })
      if (done) expect(version).toBe(2)
      for (const ref of [`${name}@1`, `${name}@${version}`]) await expectSetUp(crash, name, ref)
      await crash.manager.call('template update', { name })
      await crash.manager.call('template remove', { name })
      expect(await templateNames(crash)).toEqual([])
    },
  },
  'shared create': {
    prepare: nothing,
    input: (_crash, name) => ({ name }),
    touch: byRecovery,
    async check(crash, name, _before, done) {
      const names = (await crash.manager.call('shared list', {})).map((area) => area.name)
      if (done) expect(names).toContain(name)
      if (!names.includes(name)) await crash.manager.call('shared create', { name })
      await crash.manager.call('shared remove', { name, purge: true })
    },
  },
  'shared remove': {
    async prepare(crash, name) {
      await crash.manager.call('shared create', { name })
      return undefined
    },
    input: (_crash, name) => ({ name }),
    touch: byRecovery,
    async check(crash, name, _before, done) {
      const names = (await crash.manager.call('shared list', {})).map((area) => area.name)
      if (done) expect(names).not.toContain(name)
      if (names.includes(name)) await crash.manager.call('shared remove', { name, purge: true })
    },
  },
  'shared undelete': {
    async prepare(crash, name) {
      const { path } = await crash.manager.call('shared create', { name, task: 'x' })
      writeFileSync(join(path, 'weights'), name)
      await crash.manager.call('shared remove', { name })
      return undefined
    },
    input: (_crash, name) => ({ trash: name, as: `${name}-again` }),
    touch: byRecovery,
    async check(crash, name, _before, done) {
      const again = `${name}-again`
      const names = (await crash.manager.call('shared list', {})).map((area) => area.name)
      if (done) expect(names).toContain(again)
      if (!names.includes(again)) await crash.manager.call('shared undelete', { trash: name, as: again })
      const area = (await crash.manager.call('shared list', {})).find((one) => one.name === again)
      expect(area?.task).toBe('x')
      expect(readFileSync(join(area?.path ?? '', 'weights'), 'utf8')).toBe(name)
      await crash.manager.call('shared remove', { name: again, purge: true })
    },
  },
}
