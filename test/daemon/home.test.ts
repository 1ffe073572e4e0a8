/** The daemon and its home: what it serves and what not, what people read, what becomes of workspaces when it ends. */
import { chmodSync, chownSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { toAwError } from '../../src/domain/errors.ts'
import { place } from '../cli/built-command.ts'
import { isAlive, startDaemon } from './daemon.ts'

test.each([
  ['stop', 'stopped'],
  ['trash', 'trashed'],
])('shutdown.policy %s: afterwards no sandbox runs, and the workspace is %s', async (policy, state) => {
  using at = place()
  await using daemon = startDaemon({ at, set: [`shutdown.policy=${policy}`] })
  const { aw, pid } = daemon
  const { id } = await aw.create({ id: 'a' })
  await aw.manager.call('fs write', { id, path: 'work/file', content: 'kept' })
  await aw.manager.call('start', { id })
  expect(await aw.manager.call('show', { id })).toMatchObject({ sandbox: { isolation: 'namespace' } })
  await aw[Symbol.asyncDispose]()
  process.kill(pid, 'SIGTERM')
  await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false)
  expect(JSON.parse(at.aw('--json', 'show', id).stdout)).toMatchObject({ state, sandbox: null })
  expect(readdirSync(join(at.home, 'run')).filter((name) => name.startsWith('box_'))).toEqual([])
  if (state === 'trashed') expect(at.aw('undelete', 'a').code).toBe(0)
  expect(at.aw('fs', 'read', 'a', 'work/file').stdout).toBe('kept')
})

test.each(['others may write to it', 'it is another user’s'])('a home is not served if %s', (why) => {
  using at = place()
  expect(at.aw('create', 'a').code).toBe(0)
  if (why === 'others may write to it') chmodSync(at.home, 0o770)
  else if (process.getuid?.() === 0) chownSync(at.home, 1234, 1234)
  else at.env['AW_HOME'] = '/usr'
  const { code, stderr } = at.aw('--json', 'serve')
  expect([code, JSON.parse(stderr)]).toMatchObject([5, { code: 'home_owner_mismatch' }])
  expect(existsSync(join(at.home, 'aw.sock'))).toBe(false)
})

test('people are told where it listens, what to try, and how it ends', async () => {
  using at = place()
  const { seen, exit } = at.onTerminal(
    [{ until: 'Ctrl-C ends it', type: '\u0003' }],
    'serve',
    '--listen',
    '127.0.0.1:0',
  )
  expect(exit).toBe(0)
  const text = stripVTControlCharacters(seen)
  expect(text).toContain(`at the socket ${at.home}/aw.sock (you alone, without a token)`)
  expect(text).toMatch(/at http:\/\/127\.0\.0\.1:\d+ \(with a token\)/)
  for (const line of ['create', 'list', 'tour', 'token create --scope admin'])
    expect(text).toContain(`  aw --home ${at.home} ${line}\r\n`)
  expect(text).toMatch(/ended=true/)
  const shown = at.aw('serve', '--status')
  expect(shown).toMatchObject({ code: 3, stdout: 'No daemon serves this home. Start one: aw serve\n' })
})

test('aw status tells people that a daemon runs, and says nothing of it to programs', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  const { at, pid, url } = daemon
  await daemon.aw.create({ id: 'a' })
  const told = `A daemon runs, process ${pid}, at ${url}: see aw serve --status`
  expect(at.onTerminal([{ until: 'serve --status', type: '\u0003' }], 'status').seen).toContain(told)
  expect(at.aw('status').stdout).not.toContain('daemon')
  expect(at.aw('serve', '--status').stdout).toContain(`The daemon listens: process ${pid}, version `)
})

test('after a restart nobody counts as active: a workspace is taken over at once, and the old lease is void', async () => {
  using at = place()
  await using first = startDaemon({ at })
  await first.aw.create({ id: 'a' })
  const old = await first.aw.manager.call('lease acquire', { id: 'a', holder: 'ci' })
  const forced = { id: 'a', holder: 'ann', force: true }
  expect(toAwError(await first.aw.manager.call('adopt', forced).catch((error: unknown) => error))).toMatchObject({
    code: 'workspace_active',
  })
  await first.end()
  await using second = startDaemon({ at })
  const { manager } = second.aw
  const taken = await manager.call('adopt', forced)
  expect(taken).toMatchObject({ holder: 'ann', adopted_from: 'ci' })
  const write = (lease: string) =>
    manager.call('fs write', { id: 'a', path: 'work/file', content: lease }, { lease }).then(
      () => 'written',
      (error: unknown) => toAwError(error).code,
    )
  expect([await write(old.id), await write(taken.id)]).toEqual(['lease_lost', 'written'])
  await second.end()
})
