import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tryLock } from '../../src/sys/locks/lock.ts'
import { sh } from '../sandbox/exec/run-script.ts'
import { git, hasBases, makeRepository, openGround } from '../sources/fixture.ts'

const notKept = (path: string): string => `The earlier content of ${path} was not kept`

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
  // Without its objects there is nothing to read the earlier content from, where that was not kept.
  await sh(aw, 'short', 'rm -rf .git/objects/*')
  const [readme] = await aw.diff('short', undefined, { paths: ['work/README'], text: true })
  expect(readme).toMatchObject(
    hasBases ? { text: expect.stringContaining('+two') as unknown } : { omitted: notKept('work/README') },
  )
})

it('a repository need not be asked to tell what changed in it', async () => {
  const ground = await openGround({ 'locks.timeout_ms': '20' })
  const { aw, home } = ground
  const { id } = await aw.create({ id: 'one', repo: makeRepository(ground) })
  await sh(aw, 'one', 'echo 1 > kept')
  using _ = tryLock(join(home, 'locks', `${id}.lock`))
  expect((await aw.diff('one')).map(({ path }) => path)).toEqual(['work/kept'])
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
