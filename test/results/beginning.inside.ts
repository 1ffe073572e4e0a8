import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tryLock } from '../../src/sys/lock.ts'
import { sh } from '../exec/ran.ts'
import { codeOf, git, hasBases, makeRepository, openGround } from '../sources/open.ts'

it('what was done since a repository came is told without a snapshot, and from the commit on with one', async () => {
  const ground = await openGround()
  const { aw, base } = ground
  const repo = makeRepository(ground)
  fs.writeFileSync(join(repo, '.gitattributes'), '*.bat eol=crlf\n')
  fs.writeFileSync(join(repo, 'run.bat'), 'echo\r\n')
  fs.symlinkSync('README', join(repo, 'link'))
  fs.writeFileSync(join(repo, 'script'), '#!/bin/sh\n', { mode: 0o755 })
  git(repo, 'add', '--all')
  git(repo, 'commit', '--quiet', '--message', 'more')
  const told = async (of: string): Promise<string[]> => {
    const changes = await aw.diff(of)
    // What git does in a repository is told where that was kept too.
    return changes.filter(({ path }) => !path.includes('.git/')).map(({ path, change }) => `${change} ${path}`)
  }
  for (const [id, options] of [
    ['short', {}],
    ['whole', { full: true, profile: 'repo' }],
  ] as const) {
    const { snapshot } = await aw.create({ id, repo, ...options })
    const prefix = id === 'whole' ? '' : 'work/'
    expect(await aw.diff(id)).toEqual([])
    await sh(aw, id, 'echo two >> README; git commit -qam two; rm src/main.ts; mkdir -p out; echo 1 > out/new')
    const all = [`changed ${prefix}README`, `added ${prefix}out`, `added ${prefix}out/new`]
    const changes = [...all, `removed ${prefix}src/main.ts`]
    expect(await told(id)).toEqual(changes)
    await snapshot()
    await sh(aw, id, 'rm out/new')
    expect(await told(id)).toEqual(changes.filter((line) => !line.endsWith('new')))
    const [readme] = await aw.diff(id, undefined, { paths: [`${prefix}README`], text: true })
    expect(readme?.text).toContain('@@ -1 +1,2 @@\n one\n+two\n')
  }
  expect(fs.readdirSync(join(base, 'home/storage/tmp'))).toEqual([])
  if (hasBases) return
  // Where it is read out of the repository inside, it is gone with it.
  await sh(aw, 'short', 'rm -rf .git/objects/*')
  expect(await codeOf(Promise.resolve(aw.diff('short')))).toBe('snapshot_not_found')
})

it('of a repository that cannot be read just now, that is told, and no snapshot is taken for its beginning', async () => {
  const ground = await openGround({ 'locks.timeout_ms': '20' })
  const { aw, home } = ground
  const { id } = await aw.create({ id: 'one', repo: makeRepository(ground) })
  await sh(aw, 'one', 'echo 1 > kept')
  using held = tryLock(join(home, 'locks', `${id}.lock`))
  expect(await codeOf(Promise.resolve(aw.diff('one')))).toBe(hasBases ? 'done' : 'workspace_busy')
  held?.[Symbol.dispose]()
  await aw.snapshot('one')
  await sh(aw, 'one', 'echo 2 > new')
  const all = ['work/kept', 'work/new']
  const changed = async () => (await aw.diff('one')).map(({ path }) => path).filter((path) => all.includes(path))
  expect(await changed()).toEqual(all)
  using again = tryLock(join(home, 'locks', `${id}.lock`))
  expect(again).toBeDefined()
  if (hasBases) expect(await changed()).toEqual(all)
  else expect(await codeOf(changed())).toBe('workspace_busy')
})

it('of a folder nothing is kept on plain directories but what a run keeps that it is made for', async () => {
  const ground = await openGround()
  const { aw } = ground
  const folder = makeRepository(ground)
  fs.rmSync(join(folder, '.git'), { recursive: true })
  const changed = async (id: string): Promise<string[]> => (await aw.diff(id)).map(({ path }) => path)
  for await (const _ of aw.manager.stream('run', { id: 'made', from: { folder }, argv: ['touch', 'new'] }));
  expect(await changed('made')).toEqual(['work/new'])
  await aw.create({ id: 'there', from: { folder } })
  await sh(aw, 'there', 'echo 1 > mine')
  for await (const _ of aw.manager.stream('run', { id: 'there', argv: ['touch', 'new'] }));
  if (hasBases) expect(await changed('there')).toEqual(['work/mine', 'work/new'])
  else expect(await codeOf(changed('there'))).toBe('snapshot_not_found')
})

it('a workspace that began empty is compared with nothing but what aw itself had put there', async () => {
  const { aw, base } = await openGround()
  await aw.create({ id: 'one', config: { git_config: { enabled: true } } })
  expect(await aw.diff('one')).toEqual([])
  await sh(aw, 'one', 'echo 1 > a; mkdir -p d/e')
  const told = async (): Promise<string[]> =>
    (await aw.diff('one', undefined, { stat: true })).map(
      ({ path, change, lines }) => `${change} ${path} ${lines?.added ?? ''}`,
    )
  const changes = ['added work/a 1', 'added work/d ', 'added work/d/e ']
  expect(await told()).toEqual(changes)
  await aw.snapshot('one')
  expect(await told()).toEqual(changes)
  expect(fs.readdirSync(join(base, 'home/storage/tmp'))).toEqual([])
})
