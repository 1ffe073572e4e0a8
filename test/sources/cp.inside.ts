import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { readTree } from '../support/tree.ts'
import { codeOf, contentOf, openGround } from './fixture.ts'

it('what holds the workspaces themselves is not copied into one', async () => {
  const { aw, base, home } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  for (const from of [base, home, join(home, 'storage'), '/'])
    expect([from, await codeOf(aw.cp({ from, to: 'one:work/copy' }))]).toEqual([from, 'source_failed'])
  expect(fs.readdirSync(path).toSorted()).toEqual(['.aw', 'output', 'tmp', 'work'])
  // A workspace into itself ends where the copy begins.
  fs.writeFileSync(join(path, 'work', 'file'), 'content')
  expect(await aw.cp({ from: 'one:.', to: 'one:work/again' })).toMatchObject({ skipped: [] })
  expect(fs.readdirSync(join(path, 'work', 'again')).toSorted()).toEqual(['.aw', 'output', 'tmp', 'work'])
  expect(fs.readFileSync(join(path, 'work', 'again', 'work', 'file'), 'utf8')).toBe('content')
  await aw.cp({ from: 'one:', to: join(base, 'all') })
  expect(fs.readFileSync(join(base, 'all', 'work', 'file'), 'utf8')).toBe('content')
  // With a slash behind it, it is a directory that is there.
  for (const from of ['one:work/file', 'one:work'])
    expect(await codeOf(aw.cp({ from, to: join(base, 'missing/') }))).toBe('file_not_found')
  expect(fs.existsSync(join(base, 'missing'))).toBe(false)
  await aw.cp({ from: 'one:work/file', to: join(base, 'all/') })
  expect(fs.readFileSync(join(base, 'all', 'file'), 'utf8')).toBe('content')
})

it('nothing of aw is replaced by what is copied or exported out of a workspace', async () => {
  const { aw, base, home } = await openGround()
  const { path, id } = await aw.create({ id: 'one' })
  await aw.fs.write('one', { path: 'work/log.db', content: 'no log' })
  const [link, elsewhere] = [join(base, 'link'), join(base, 'elsewhere')]
  fs.symlinkSync(home, link)
  fs.mkdirSync(elsewhere)
  const log = fs.statSync(join(home, 'log.db')).ino
  const own = [
    home,
    link,
    join(home, 'storage'),
    join(home, 'storage/volumes'),
    join(link, 'texts'),
    `${elsewhere}/../home`,
  ]
  const refused = { code: 'invalid_input', message: expect.stringContaining("of aw's own") as string }
  for (const directory of own) {
    const target = { file: join(directory, 'log.db'), replace: true }
    for (const to of [target.file, directory])
      await expect(aw.cp({ from: 'one:work/log.db', to, replace: true })).rejects.toMatchObject(refused)
    await expect(aw.export({ of: 'one', ...target })).rejects.toMatchObject(refused)
    await expect(aw.export({ of: 'one', patch: true, ...target })).rejects.toMatchObject(refused)
  }
  expect(fs.statSync(join(home, 'log.db')).ino).toBe(log)
  expect(fs.readdirSync(join(home, 'storage/volumes'))).toEqual([id])
  // A tree of a workspace is its users' own.
  await aw.cp({ from: 'one:work/log.db', to: join(path, 'work/copy') })
  expect(fs.readFileSync(join(path, 'work/copy'), 'utf8')).toBe('no log')
  await aw.export({ of: 'one', file: join(elsewhere, 'one.aw') })
})

/** What a directory of the user has, links with where they lead. */
const listed = (directory: string): string[] =>
  execFileSync(
    'find',
    [directory, '-mindepth', '1', '(', '-type', 'l', '-printf', '%P -> %l\\n', '-o', '-printf', '%P\\n', ')'],
    {
      encoding: 'utf8',
    },
  )
    .trim()
    .split('\n')
    .toSorted()

async function openLinks() {
  const { aw, base } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  const work = join(path, 'work')
  fs.mkdirSync(join(work, '.ssh'))
  fs.writeFileSync(join(work, '.ssh', 'authorized_keys'), 'of the agent')
  fs.writeFileSync(join(work, '.bashrc'), 'of the agent')
  fs.symlinkSync('.ssh', join(work, 'results'))
  fs.symlinkSync('.bashrc', join(work, 'report.txt'))
  fs.symlinkSync('nowhere', join(work, 'dangling'))
  fs.symlinkSync('/etc/passwd', join(work, 'outside'))
  fs.symlinkSync('../..', join(work, 'above'))
  fs.symlinkSync('circle', join(work, 'circle'))
  fs.symlinkSync(join(path, 'work', '.ssh'), join(work, 'by-path'))
  await aw.snapshot('one', { label: 'kept' })
  const out = (): string => fs.mkdtempSync(join(base, 'out-'))
  return { aw, out }
}

it('a link is copied as a link, under the name that was asked for', async () => {
  const { aw, out } = await openLinks()
  for (const one of ['one', 'one@kept']) {
    const to = out()
    for (const name of ['results', 'dangling', 'outside', 'report.txt', 'above', 'circle'])
      await aw.cp({ from: `${one}:work/${name}`, to })
    expect(listed(to)).toEqual([
      'above -> ../..',
      'circle -> circle',
      'dangling -> nowhere',
      'outside -> /etc/passwd',
      'report.txt -> .bashrc',
      'results -> .ssh',
    ])
    fs.writeFileSync(join(to, '.bashrc'), 'of the user')
    await aw.cp({ from: `${one}:work/report.txt`, to, replace: true })
    await aw.cp({ from: `${one}:work/.ssh/authorized_keys`, to: join(to, 'report.txt'), replace: true })
    expect(fs.readFileSync(join(to, '.bashrc'), 'utf8')).toBe('of the user')
    expect(fs.readFileSync(join(to, 'report.txt'), 'utf8')).toBe('of the agent')
    await aw.cp({ from: `${one}:work/results`, to: `one:output/${one.length}/` })
    expect(await aw.fs.stat('one', { path: `output/${one.length}/results`, follow: false })).toMatchObject({
      kind: 'symlink',
      target: '.ssh',
    })
  }
})

it('with a slash behind it, what it leads to is copied under its name; on the way, links are followed', async () => {
  const { aw, out } = await openLinks()
  const ours = out()
  fs.mkdirSync(join(ours, 'there'))
  fs.symlinkSync('there', join(ours, 'link'))
  for (const from of ['link', 'link/']) await aw.cp({ from: join(ours, from), to: `one:output/${from.length}/` })
  const kinds = ['4', '5'].map((into) => aw.fs.stat('one', { path: `output/${into}/link`, follow: false }))
  expect((await Promise.all(kinds)).map(({ kind }) => kind)).toEqual(['symlink', 'directory'])
  for (const one of ['one', 'one@kept']) {
    const to = out()
    for (const asked of ['results/', './.ssh/../by-path/.']) await aw.cp({ from: `${one}:work/${asked}`, to })
    await aw.cp({ from: `${one}:work/results/authorized_keys`, to })
    await aw.cp({ from: `${one}:work/results/../report.txt`, to })
    expect(listed(to)).toEqual([
      'authorized_keys',
      'by-path',
      'by-path/authorized_keys',
      'report.txt -> .bashrc',
      'results',
      'results/authorized_keys',
    ])
    const refusals = {
      'work/report.txt/': 'not_a_directory',
      'work/.bashrc/': 'not_a_directory',
      'work/dangling/': 'file_not_found',
      'work/results/missing': 'file_not_found',
      'work/outside/': 'symlink_outside_workspace',
      'work/above/home': 'symlink_outside_workspace',
      'work/circle/': 'cannot_resolve_symlinks',
      '../work': 'path_traversal_attempt',
    }
    for (const [path, code] of Object.entries(refusals))
      expect([path, await codeOf(aw.cp({ from: `${one}:${path}`, to: join(out(), 'copy') }))]).toEqual([path, code])
    // A directory that was asked for without a name has none that the agent could choose.
    expect(await codeOf(aw.cp({ from: `${one}:work/results/..`, to: join(to, 'all') }))).toBe('done')
    expect(fs.readFileSync(join(to, 'all', '.bashrc'), 'utf8')).toBe('of the agent')
  }
})

it('no file runs with the rights of whoever copies it out of a workspace', async () => {
  const { aw, base } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  const many = join(path, 'work', 'many')
  fs.mkdirSync(join(many, 'below'), { recursive: true })
  for (const directory of [many, join(many, 'below')])
    for (const mode of ['6755', '4755', '2755', '2644', '1755']) {
      fs.writeFileSync(join(directory, mode), mode)
      fs.chmodSync(join(directory, mode), Number.parseInt(mode, 8))
    }
  fs.linkSync(join(many, '6755'), join(many, 'below', 'twin'))
  fs.chmodSync(join(many, 'below'), 0o500)
  await aw.snapshot('one', { label: 'kept' })
  const modeOf = (file: string): string => (fs.statSync(file).mode & 0o7777).toString(8)
  for (const one of ['one', 'one@kept']) {
    const to = join(base, one)
    await aw.cp({ from: `${one}:work/many`, to })
    await aw.cp({ from: `${one}:work/many/6755`, to: join(to, 'single') })
    for (const directory of [to, join(to, 'below')]) {
      const modes = ['6755', '4755', '2755', '2644', '1755'].map((name) => modeOf(join(directory, name)))
      expect(modes).toEqual(['755', '755', '755', '644', '1755'])
    }
    expect(['single', 'below/twin', 'below'].map((name) => modeOf(join(to, name)))).toEqual(['755', '755', '500'])
  }
})

it('a copy that was killed leaves nothing once aw recover has run', { timeout: 60_000 }, async () => {
  const { aw, base, home } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  const large = join(base, 'large')
  fs.mkdirSync(large)
  for (let n = 0; n < 3000; n++) fs.writeFileSync(join(large, `${n}`), Buffer.alloc(4096, n))
  const program = join(import.meta.dirname, '../crash/program.ts')
  const input = JSON.stringify({ from: large, to: 'one:work/copy' })
  const child = spawn(process.execPath, [program, 'call', home, 'cp', input], { stdio: 'ignore' })
  const unfinished = (): string[] => fs.readdirSync(path).filter((name) => name.startsWith('.aw-'))
  while (child.exitCode === null && unfinished().length === 0) await sleep(1)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await aw.recover()
  expect(unfinished()).toEqual([])
})

it('files are copied in, out, and from one to another; nothing is replaced, no link is followed', async () => {
  const { aw, base } = await openGround()
  const [one, two] = [await aw.create({ id: 'one' }), await aw.create({ id: 'two' })]
  const outside = join(base, 'outside')
  fs.mkdirSync(join(outside, 'deep'), { recursive: true })
  fs.writeFileSync(join(outside, 'file'), 'from outside')
  fs.writeFileSync(join(outside, 'deep', 'file'), 'deep')
  await aw.cp({ from: join(outside, 'file'), to: 'one:work/' })
  await aw.cp({ from: outside, to: 'one:work/copy' })
  expect(contentOf(one, 'file')).toBe('from outside')
  expect(readTree(join(one.path, 'work', 'copy'))).toEqual(readTree(outside))
  expect(await codeOf(aw.cp({ from: join(outside, 'file'), to: 'one:work/file' }))).toBe('file_exists')
  expect(await codeOf(aw.cp({ from: join(outside, 'file'), to: 'one:.aw/x' }))).toBe('path_protected')
  expect(await codeOf(aw.cp({ from: join(outside, 'file'), to: 'one:../../x' }))).toBe('path_traversal_attempt')
  await aw.cp({ from: 'one:work/copy', to: 'two:work/new/place' })
  expect(contentOf(two, 'new/place/deep/file')).toBe('deep')
  await aw.cp({ from: 'two:work/new', to: join(base, 'out') })
  expect(fs.readFileSync(join(base, 'out', 'place', 'file'), 'utf8')).toBe('from outside')
  expect(await codeOf(aw.cp({ from: 'two:work/new/place/file', to: join(base, 'out', 'place', 'file') }))).toBe(
    'file_exists',
  )
  fs.symlinkSync('/etc/passwd', join(one.path, 'work', 'passwd'))
  await aw.cp({ from: 'one:work/passwd', to: join(base, 'out') })
  expect(fs.readlinkSync(join(base, 'out', 'passwd'))).toBe('/etc/passwd')
  expect(await codeOf(aw.cp({ from: 'one:work/passwd/', to: join(base, 'passwd') }))).toBe('symlink_outside_workspace')
  expect(await codeOf(aw.cp({ from: 'one:work/none', to: join(base, 'none') }))).toBe('file_not_found')
  expect(await codeOf(aw.cp({ from: outside, to: base }))).toBe('invalid_input')
  expect(fs.readdirSync(one.path).toSorted()).toEqual(['.aw', 'output', 'tmp', 'work'])
  expect(fs.readdirSync(base).toSorted()).toEqual(['home', 'out', 'outside'])
})

it('a copy replaces a file when that is asked for, and never a directory', async () => {
  const { aw, base } = await openGround()
  const one = await aw.create({ id: 'one' })
  const file = join(base, 'file')
  fs.writeFileSync(file, 'first')
  await aw.cp({ from: file, to: 'one:/work/file' })
  expect(contentOf(one, 'file')).toBe('first')
  fs.writeFileSync(file, 'second')
  await expect(aw.cp({ from: file, to: 'one:/work/' })).rejects.toMatchObject({
    code: 'file_exists',
    hint: expect.stringContaining('--replace') as string,
  })
  await aw.cp({ from: file, to: 'one:work', replace: true })
  expect(contentOf(one, 'file')).toBe('second')
  fs.writeFileSync(file, 'third')
  await expect(aw.cp({ from: 'one:work/file', to: file })).rejects.toMatchObject({
    message: `There is something at ${file} already`,
    hint: expect.stringContaining('--replace') as string,
  })
  await aw.cp({ from: 'one:/work/file', to: base, replace: true })
  expect(fs.readFileSync(file, 'utf8')).toBe('second')

  fs.mkdirSync(join(base, 'out', 'file'), { recursive: true })
  const directory = join(base, 'out', 'file')
  await expect(aw.cp({ from: 'one:work/file', to: join(base, 'out'), replace: true })).rejects.toMatchObject({
    code: 'file_exists',
    message: `There is a directory at ${directory} already`,
  })
  fs.mkdirSync(join(one.path, 'work', 'deep', 'file'), { recursive: true })
  await expect(aw.cp({ from: file, to: 'one:work/deep', replace: true })).rejects.toMatchObject({
    code: 'file_exists',
    message: expect.stringContaining('There is a directory at') as string,
  })
  expect(await codeOf(aw.cp({ from: join(base, 'out'), to: 'one:work/file', replace: true }))).toBe('file_exists')
  expect(await codeOf(aw.cp({ from: 'one:work/deep', to: file, replace: true }))).toBe('file_exists')
  expect(fs.readdirSync(base).toSorted()).toEqual(['file', 'home', 'out'])
})

it('a file is copied as it was in a snapshot', async () => {
  const { aw, base } = await openGround()
  const one = await aw.create({ id: 'one' })
  fs.mkdirSync(join(one.path, 'work', 'deep'))
  fs.writeFileSync(join(one.path, 'work', 'deep', 'file'), 'then')
  const { id } = await aw.snapshot('one', { label: 'then' })
  fs.writeFileSync(join(one.path, 'work', 'deep', 'file'), 'now')
  await aw.cp({ from: 'one@then:work/deep/file', to: join(base, 'file') })
  expect(fs.readFileSync(join(base, 'file'), 'utf8')).toBe('then')
  await aw.cp({ from: 'one@then:/work/deep', to: join(base, 'deep') })
  expect(readTree(join(base, 'deep'))).toMatchObject({ file: { content: 'then' } })
  await aw.cp({ from: `${id}:work/deep/file`, to: 'one:work/deep/file', replace: true })
  expect(contentOf(one, 'deep/file')).toBe('then')
  expect(await codeOf(aw.cp({ from: 'one@then:work/none', to: join(base, 'none') }))).toBe('file_not_found')
  expect(await codeOf(aw.cp({ from: 'one@never:work', to: join(base, 'none') }))).toBe('snapshot_not_found')
  expect(await codeOf(aw.cp({ from: join(base, 'file'), to: 'one@then:work' }))).not.toBe('done')
  expect((await aw.recover()).orphans).toEqual([])
})

it('what cannot be copied is named as it was given', async () => {
  const { aw, base } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  await expect(aw.cp({ from: join(base, 'none'), to: 'one:work/' })).rejects.toMatchObject({
    code: 'file_not_found',
    message: `There is no such file or directory: ${base}/none`,
  })
  await expect(aw.cp({ from: '/dev/null', to: 'one:work/' })).rejects.toMatchObject({
    code: 'not_a_file',
    message: expect.stringContaining('/dev/null is no file') as string,
  })
  const away = join(base, 'away', 'file')
  fs.writeFileSync(join(path, 'work', 'file'), 'content')
  await expect(aw.cp({ from: 'one:work/file', to: away })).rejects.toMatchObject({
    code: 'file_not_found',
    message: `There is no directory ${base}/away`,
  })
  // There is nothing that root may not do.
  if (process.getuid?.() === 0) return
  await expect(aw.cp({ from: '/etc/shadow', to: 'one:work/' })).rejects.toMatchObject({
    code: 'permission_denied',
    message: '/etc/shadow cannot be read',
  })
  await expect(aw.cp({ from: '/root', to: 'one:work/' })).rejects.toMatchObject({
    code: 'permission_denied',
    message: '/root cannot be read',
  })
  await expect(aw.cp({ from: 'one:work/file', to: '/etc/zz' })).rejects.toMatchObject({
    code: 'permission_denied',
    message: '/etc cannot be written to',
  })
})
