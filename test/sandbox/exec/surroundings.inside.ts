import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { codeOf, makeRepository, openGround } from '../../sources/fixture.ts'
import { ran, sh } from './run-script.ts'

it('a repository can be worked with inside, and what aw keeps of it is read-only there', async () => {
  const ground = await openGround()
  const { aw } = ground
  await aw.create({ id: 'one', repo: makeRepository(ground), profile: 'repo' })
  const said = await sh(
    aw,
    'one',
    `git -c user.name=a -c user.email=a@b.c commit -qam x --allow-empty
     git log --oneline | wc -l; git status --short | wc -l; git branch new; git checkout -q new`,
  )
  // The clone is shallow: one commit came, one was made.
  expect(said.split('\n').map(Number).slice(0, 2)).toEqual([2, 0])
  for (const attack of [
    'echo x > .m/run.json',
    'rm -rf .m',
    'mv .m away',
    'echo x > .git/hooks/post-commit',
    'mv .git/hooks .git/h',
  ])
    expect((await ran(aw, { id: 'one', argv: ['sh', '-c', attack] })).exit.code).not.toBe(0)
  expect(await sh(aw, 'one', 'ls .m; pwd')).toContain('/workspace\n')
})

it('a shared area is attached as it was asked for, and is in no snapshot', async () => {
  const { aw } = await openGround()
  const area = await aw.shared.create({ name: 'cache' })
  await aw.create({ id: 'one' })
  await aw.create({ id: 'two' })
  expect(await sh(aw, 'one', 'echo built > /shared/cache/result; ls -A', { shared: ['cache'] })).toBe('')
  expect(await sh(aw, 'two', 'cat /models/result', { shared: ['cache:/models:ro'] })).toBe('built\n')
  const denied = await ran(aw, { id: 'two', argv: ['touch', '/models/x'], shared: ['cache:/models:ro'] })
  expect(denied.stderr).toContain('Read-only')
  expect(fs.readFileSync(join(area.path, 'result'), 'utf8')).toBe('built\n')
  await aw.destroy('one', { purge: true })
  expect(fs.readdirSync(area.path)).toEqual(['result'])
  expect(await codeOf(sh(aw, 'two', 'true', { shared: ['none'] }))).toBe('shared_not_found')
  for (const wish of ['cache:/a:/b', 'cache:ro:/a', 'cache:ro:rw', 'cache:', 'cache:/workspace/work/.git/hooks'])
    expect([wish, await codeOf(sh(aw, 'two', 'true', { shared: [wish] }))]).toEqual([wish, 'invalid_input'])
  // What does nothing there now may write there later, and would write into the trash.
  const standing = sh(aw, 'two', 'touch there; until [ -e go ]; do sleep 0.05; done', { shared: ['cache'] })
  await expect.poll(() => codeOf(aw.fs.stat('two', { path: 'work/there' }))).toBe('done')
  expect(await codeOf(aw.shared.remove({ name: 'cache' }))).toBe('workspace_active')
  await aw.fs.write('two', { path: 'work/go', content: '' })
  await standing
  await expect.poll(() => codeOf(aw.shared.remove({ name: 'cache' }))).toBe('done')
})

it('a secret is a file for the commands of its workspace, and nowhere else', async () => {
  const { aw, home } = await openGround({ 'sandbox.snapshot': 'each-exec' })
  const value = 'correct-horse-battery-staple'
  await aw.create({ id: 'one' })
  await aw.env.set('one', { env: { PLAIN: 'not-so-secret' } })
  await aw.env.set('one', { secret: 'TOKEN', value })
  const said = await sh(aw, 'one', 'cat "$TOKEN_FILE"; echo; stat -c %a "$TOKEN_FILE"; echo "$PLAIN $TOKEN"; touch x')
  expect(said).toBe(`${value}\n400\nnot-so-secret \n`)
  await aw.start('one')
  expect(await sh(aw, 'one', 'cat "$TOKEN_FILE"; find / -name TOKEN 2>/dev/null | wc -l')).toBe(`${value}1\n`)
  await aw.env.set('one', { secret: 'TOKEN', value: 'another' })
  expect(await sh(aw, 'one', 'cat "$TOKEN_FILE"')).toBe('another')
  await aw.env.unset('one', { names: ['TOKEN'] })
  expect(await sh(aw, 'one', 'find / -name TOKEN 2>/dev/null | wc -l; echo "$TOKEN_FILE"')).toBe('0\n\n')
  await aw.stop('one')
  const kept = grep(home, value).filter((path) => !path.startsWith('variables/'))
  expect(kept).toEqual([])
  const shown = JSON.stringify([await aw.env.list('one'), await aw.get('one'), await aw.history('one')])
  expect(shown).not.toContain('secret-so')
  expect(fs.statSync(join(home, 'variables', fs.readdirSync(join(home, 'variables'))[0] ?? '')).mode & 0o777).toBe(
    0o400,
  )
  await aw.destroy('one', { purge: true })
  expect(fs.readdirSync(join(home, 'variables'))).toEqual([])
})

/** Files below a directory that hold a text, by their paths. */
function grep(root: string, text: string): string[] {
  return fs
    .readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => fs.readFileSync(path).includes(text))
    .map((path) => path.slice(root.length + 1))
}

it('a command that does not exist, one that fails, one that is killed: each is told as what it is', async () => {
  const { aw } = await openGround()
  await aw.create({ id: 'one' })
  expect(await codeOf(ran(aw, { id: 'one', argv: ['no-such-program'] }))).toBe('file_not_found')
  expect((await ran(aw, { id: 'one', argv: ['sh', '-c', 'exit 7'] })).exit).toMatchObject({ code: 7, signal: null })
  const killed = await ran(aw, { id: 'one', argv: ['sh', '-c', 'kill -9 $$'] })
  expect(killed.exit).toMatchObject({ code: null, signal: 'SIGKILL', timed_out: false })
  const late = await ran(aw, { id: 'one', argv: ['sleep', '60'], timeout_ms: 100 })
  expect(late.exit).toMatchObject({ signal: 'SIGKILL', timed_out: true })
  const loud = await ran(aw, { id: 'one', argv: ['sh', '-c', 'head -c 3000000 /dev/zero; echo e >&2'], output_mb: 1 })
  expect(loud.exit).toMatchObject({ code: 0, output_cut: true })
  expect(loud.stdout.length + loud.stderr.length).toBe(2 ** 20)
  expect((await aw.history('one')).map(({ state }) => state)).toEqual(['failed', 'ended', 'ended', 'ended', 'ended'])
})

it('the place of the workspace inside can be another, also one that tells nothing', async () => {
  const { aw, home } = await openGround({ 'sandbox.mount': 'random' })
  await aw.create({ id: 'one' })
  await aw.create({ id: 'two' })
  const [first, second] = [await sh(aw, 'one', 'pwd'), await sh(aw, 'two', 'pwd; env')]
  expect(first).toMatch(/^\/mnt\/aw-[0-9a-f]{8}\/work\n$/)
  expect(second.split('\n')[0]).not.toBe(first.trim())
  // The kernel's list of mounts still tells where the tree is kept.
  expect(second).not.toContain(home)
})
