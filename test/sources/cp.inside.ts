import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { codeOf, openGround } from './open.ts'

it('what holds the workspaces themselves is not copied into one', async () => {
  const { aw, base, home } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  for (const from of [base, home, join(home, 'storage'), '/'])
    expect([from, await codeOf(aw.cp({ from, to: 'one:work/copy' }))]).toEqual([from, 'source_failed'])
  expect(fs.readdirSync(path).toSorted()).toEqual(['.aw', 'output', 'tmp', 'work'])
  // A workspace into itself ends where the copy begins.
  fs.writeFileSync(join(path, 'work', 'file'), 'content')
  await aw.cp({ from: 'one:.', to: 'one:work/again' })
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

it('a copy that was killed leaves nothing once aw recover has run', { timeout: 60_000 }, async () => {
  const { aw, base, home } = await openGround()
  const { path } = await aw.create({ id: 'one' })
  const large = join(base, 'large')
  fs.mkdirSync(large)
  for (let n = 0; n < 3000; n++) fs.writeFileSync(join(large, `${n}`), Buffer.alloc(4096, n))
  const program = join(import.meta.dirname, '..', 'crash', 'program.ts')
  const input = JSON.stringify({ from: large, to: 'one:work/copy' })
  const child = spawn(process.execPath, [program, 'call', home, 'cp', input], { stdio: 'ignore' })
  const unfinished = (): string[] => fs.readdirSync(path).filter((name) => name.startsWith('.aw-'))
  while (child.exitCode === null && unfinished().length === 0) await sleep(1)
  child.kill('SIGKILL')
  await once(child, 'exit')
  await aw.recover()
  expect(unfinished()).toEqual([])
})
