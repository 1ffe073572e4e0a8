import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { openManager } from '../../../src/aw.ts'
import { initHome, openAw, type Aw } from '../../../src/index.ts'
import { collect } from '../../support/collect.ts'
import { code } from '../../contracts/manager.ts'
import { makeRepository } from '../../sources/fixture.ts'

/** Workspaces of an ordinary user that are overlays: made from everything, looked into, and never at a path. */

async function ground(): Promise<{ aw: Aw; base: string; home: string }> {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-held-'))
  const home = join(base, 'home')
  expect(await initHome({ home, env: {}, storage: 'overlay' })).toMatchObject({ driver: 'overlay', changed: true })
  const aw = await openAw({ home, env: {} })
  onTestFinished(() => aw[Symbol.asyncDispose]())
  return { aw, base, home }
}

const text = async (aw: Aw, id: string, path: string): Promise<string> =>
  Buffer.from(await aw.fs.read(id, { path })).toString()

function makeFolder(base: string): string {
  const folder = join(base, 'folder')
  fs.mkdirSync(join(folder, 'deep'), { recursive: true })
  fs.writeFileSync(join(folder, 'README'), 'hello {{name}}\n')
  fs.writeFileSync(join(folder, 'deep', 'file'), 'deep')
  fs.symlinkSync('deep/file', join(folder, 'link'))
  return folder
}

it('is made from every source', async () => {
  const { aw, base, home } = await ground()
  const folder = makeFolder(base)
  const archive = join(base, 'archive.tar')
  execFileSync('tar', ['-cf', archive, '-C', folder, '.'])
  await aw.create({ id: 'empty', config: { git_config: { enabled: true }, claude_md: 'Be kind' } })
  expect(await text(aw, 'empty', 'work/.git/HEAD')).toBe('ref: refs/heads/main\n')
  expect(await text(aw, 'empty', 'CLAUDE.md')).toContain('Be kind')
  for (const id of ['folder', 'again']) {
    const made = await aw.create({ id, from: { folder }, config: { git_config: { enabled: true } } })
    expect(made.base).not.toBeNull()
    expect(await text(aw, id, 'work/link')).toBe('deep')
    expect(await text(aw, id, 'work/.git/HEAD')).toBe('ref: refs/heads/main\n')
  }
  fs.writeFileSync(join(folder, 'deep', 'new'), 'new')
  fs.rmSync(join(folder, 'link'))
  await aw.create({ id: 'later', from: { folder } })
  expect((await aw.fs.tree('later', { path: 'work' })).entries?.map(({ path }) => path)).toEqual([
    'README',
    'deep',
    'deep/file',
    'deep/new',
  ])
  const repo = makeRepository({ base })
  expect(await aw.create({ id: 'git', repo })).toMatchObject({ source: { branch: 'main' } })
  expect(await text(aw, 'git', 'work/README')).toBe('one\n')
  await aw.create({ id: 'archive', from: { archive } })
  expect(await text(aw, 'archive', 'work/deep/file')).toBe('deep')
  await aw.template.create({ name: 'page', from: { folder }, variables: { name: '' } })
  await aw.create({ id: 'template', template: 'page', variables: { name: 'Ann' } })
  expect(await text(aw, 'template', 'work/README')).toBe('hello Ann\n')
  await aw.create({ id: 'fork', from_workspace: 'template' })
  expect(await text(aw, 'fork', 'work/README')).toBe('hello Ann\n')
  // A repository in it is one that git itself finds whole, once it is out.
  await aw.cp({ from: 'git:work', to: join(base, 'out') })
  expect(execFileSync('git', ['-C', join(base, 'out'), 'status', '--porcelain'], { encoding: 'utf8' })).toBe('')
  const shared = await aw.shared.create({ name: 'models' })
  fs.writeFileSync(join(shared.path, 'weights'), 'heavy')
  expect(fs.readdirSync(join(home, 'storage', 'volumes'))).toEqual([])
  expect((await aw.recover()).orphans).toEqual([])
})

it('goes through a whole life: files, snapshots, forks, differences, copies, files of one, the trash', async () => {
  const { aw, base } = await ground()
  const folder = makeFolder(base)
  await aw.create({ id: 'one', from: { folder } })
  await aw.fs.write('one', { path: 'work/state', content: 'first' })
  await aw.snapshot('one', { label: 'first' })
  await aw.fs.write('one', { path: 'work/state', content: 'second' })
  await aw.fs.remove('one', { path: 'work/deep', recursive: true })
  expect((await aw.diff('one@first')).map(({ path, change }) => `${change} ${path}`)).toEqual([
    'removed work/deep',
    'removed work/deep/file',
    'changed work/state',
  ])
  await aw.fork('one', { to: ['two'] })
  await aw.restore('one', 'first')
  expect(await text(aw, 'one', 'work/state')).toBe('first')
  expect(await text(aw, 'two', 'work/state')).toBe('second')
  await aw.undo('one')
  expect(await text(aw, 'one', 'work/state')).toBe('second')
  await aw.restore('one', 'first', { paths: ['work/deep'] })
  const moving = aw.fs.move('two', { from: 'work', to: 'moved' })
  await expect(moving).rejects.toEqual(code('unsupported', { path: 'moved' }))
  expect(await text(aw, 'one', 'work/deep/file')).toBe('deep')

  await aw.cp({ from: folder, to: 'one:work/in' })
  await aw.cp({ from: 'one:work/in', to: 'two:work/from-one' })
  await aw.cp({ from: 'one@first:work/state', to: join(base, 'state') })
  expect(fs.readFileSync(join(base, 'state'), 'utf8')).toBe('first')
  expect(await text(aw, 'two', 'work/from-one/deep/file')).toBe('deep')

  const file = join(base, 'one.aw')
  await aw.export({ of: 'one', file })
  await aw.import({ file, id: 'back' })
  expect(await text(aw, 'back', 'work/in/deep/file')).toBe('deep')
  expect(await aw.usage()).toMatchObject({})

  await aw.destroy('one')
  await aw.undelete('one')
  expect(await text(aw, 'one', 'work/in/README')).toContain('hello')
  await aw.reset('one')
  expect((await aw.fs.list('one', { path: 'work' })).entries.map(({ path }) => path)).toEqual([
    'work/README',
    'work/deep',
    'work/link',
  ])
  await aw.destroy('two', { purge: true })
  expect((await aw.verify()).snapshots.flatMap(({ problems }) => problems)).toEqual([])
  expect((await aw.recover()).orphans).toEqual([])
})

it('says how to reach it instead of a path; no link in it leads out', async () => {
  const { aw, base, home } = await ground()
  const folder = makeFolder(base)
  fs.symlinkSync('/etc/passwd', join(folder, 'passwd'))
  const { id } = await aw.create({ id: 'one', from: { folder } })
  await expect(aw.path('one')).rejects.toEqual(code('path_not_visible', { id }))
  await expect(aw.path('one')).rejects.toMatchObject({ hint: expect.stringContaining('aw exec one/main') as string })
  const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
  const cli = (...words: string[]) => {
    const { stdout, stderr } = spawnSync(process.execPath, [main, '--home', home, ...words], { encoding: 'utf8' })
    return { stdout, stderr }
  }
  const told = (name: string): string => `${name} has no path on this machine: work in it with aw exec ${name} --`
  for (const [words, name] of [
    [['create', 'two'], 'two/main'],
    [['ensure', 'two'], 'two/main'],
    [['fork', 'two', 'three'], 'three/main'],
    [['rename', 'three', 'four'], 'four/main'],
    [['reset', 'two'], 'two/main'],
  ] as const)
    expect(cli(...words)).toEqual({ stdout: `${name}\n`, stderr: expect.stringContaining(told(name)) as string })
  expect(cli('destroy', 'four').stdout).toContain('destroyed')
  expect(cli('undelete', 'four')).toMatchObject({ stdout: 'four/main\n' })
  expect(cli('-q', 'create', 'five')).toEqual({ stdout: 'five/main\n', stderr: '' })
  expect(JSON.parse(cli('create', 'six', '--json').stdout)).toMatchObject({ workspace_id: 'six/main', path: null })
  expect(JSON.parse(cli('paths', 'six', '--json').stdout)).toMatchObject({ root: null, directories: {} })
  expect(cli('show', 'six').stdout).toContain('none on this machine')
  await aw.cp({ from: '/etc/hostname', to: 'one:work/hostname' })
  await expect(aw.fs.read('one', { path: 'work/passwd' })).rejects.toEqual(code('symlink_outside_workspace'))
  expect((await aw.fs.stat('one', { path: 'work/passwd', follow: false })).escapes).toBe(true)
})

it('costs as many calls to the kernel with 10,000 files as with 1,000', async () => {
  const { aw, base, home } = await ground()
  const program = fileURLToPath(new URL('../../crash/program.ts', import.meta.url))
  const calls: number[] = []
  for (const files of [1000, 10_000]) {
    const folder = join(base, `files-${files}`)
    fs.mkdirSync(folder)
    for (let n = 0; n < files; n++) fs.writeFileSync(join(folder, `${n}`), 'x')
    await aw.template.create({ name: `with-${files}`, from: { folder } })
    const trace = join(base, `trace-${files}`)
    const create = JSON.stringify({ id: `made-${files}`, template: `with-${files}` })
    const node = [process.execPath, program, 'call', home, 'create', create]
    execFileSync('strace', ['-f', '-o', trace, '-e', 'trace=%file,%desc', ...node], { stdio: 'ignore' })
    calls.push(fs.readFileSync(trace, 'latin1').split('\n').length)
    expect((await aw.fs.list(`made-${files}`, { path: 'work', limit: 1 })).entries).toHaveLength(1)
  }
  const [few = 0, many = 0] = calls
  expect(many - few).toBeLessThan(1000)
})

it('a copy into a workspace comes to its place though snapshots are taken meanwhile', async () => {
  const { aw, base, home } = await ground()
  const folder = makeFolder(base)
  await aw.create({ id: 'one' })
  const index = new URL('../../../src/index.ts', import.meta.url).href
  const program = `
    const { openAw } = await import(${JSON.stringify(index)})
    const aw = await openAw({ home: ${JSON.stringify(home)}, env: {} })
    for (let i = 0; ; i++) {
      await aw.fs.write('one', { path: 'work/changed', content: String(i) })
      await aw.snapshot('one')
      console.log(i)
    }`
  const snapshots = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(snapshots.stdout, 'data')
    for (let i = 0; i < 20; i++) await aw.cp({ from: folder, to: `one:work/${i}` })
  } finally {
    const ended = once(snapshots, 'exit')
    snapshots.kill('SIGKILL')
    await ended
  }
  expect((await aw.fs.list('one', { path: 'work' })).entries).toHaveLength(21)
  // One that fails leaves nothing either.
  await expect(aw.cp({ from: folder, to: 'one:work/changed' })).rejects.toEqual(code('file_exists'))
  expect((await aw.fs.list('one', { path: '.' })).entries.map(({ path }) => path)).not.toContainEqual(
    expect.stringContaining('.tmp'),
  )
  expect(fs.readdirSync(join(home, 'locks')).filter((name) => name.startsWith('copy'))).toEqual([])
})

it('a command that passes the size limit is stopped, in a fork and after a snapshot', { timeout: 60_000 }, async () => {
  const home = fs.mkdtempSync(join(tmpdir(), 'aw-limit-'))
  const set = { 'storage.driver': 'overlay', 'space.watch_ms': '100', 'space.min_free_mb': '0' }
  await using manager = await openManager({ home, env: {}, set })
  await manager.call('create', { id: 'a', config: { max_size_mb: 4 } })
  await manager.call('snapshot', { id: 'a' })
  await manager.call('fork', { id: 'a', to: ['b'] })
  const full = expect.objectContaining({ code: 'quota_exceeded' }) as Error
  for (const id of ['a', 'b']) {
    const exec = (script: string) => collect(manager.stream('exec', { id, argv: ['sh', '-c', script] }))
    await exec('head -c 3000000 /dev/zero > fits')
    await expect(exec('head -c 3000000 /dev/zero > more; sleep 60')).rejects.toEqual(full)
    await expect(exec('true')).rejects.toEqual(full)
  }
})
