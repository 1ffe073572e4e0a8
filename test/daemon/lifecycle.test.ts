/** The daemon as a program: how it starts, what it refuses, how it ends. */
import { existsSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { connectAw } from '../../src/client/main.ts'
import { launcher, place } from '../cli/built-command.ts'
import { isAlive, startDaemon } from './daemon.ts'

describe.each(['same', 'ordinary'] as const)('as %s user', (user) => {
  test('it starts, serves, tells of itself, and ends without a trace of its own', async () => {
    await using daemon = startDaemon({ user, listen: '127.0.0.1:0' })
    const { at, aw, pid, url } = daemon
    const socket = join(at.home, 'aw.sock')
    expect(statSync(socket).mode & 0o777).toBe(0o600)
    expect(statSync(at.home).mode & 0o777).toBe(0o700)
    expect(JSON.parse(at.aw('--json', 'serve', '--status').stdout)).toMatchObject({
      running: true,
      pid,
      socket,
      listen: url,
    })
    const made = await aw.create({ id: 'fix-login' })
    expect(at.aw('path', 'fix-login').stdout.trim()).toBe(made.path)
    const health = await fetch(`${url}/api/health`)
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }])
    expect((await fetch(`${url}/api/workspaces`)).status).toBe(401)
    const { token } = JSON.parse(at.aw('--json', 'token', 'create', '--scope', 'admin').stdout) as { token: string }
    const headers = { authorization: `Bearer ${token}` }
    const list = (await (await fetch(`${url}/api/workspaces`, { headers })).json()) as { id: string }[]
    expect(list.map(({ id }) => id)).toEqual([made.id])
    const metrics = await (await fetch(`${url}/metrics`, { headers })).text()
    expect(metrics).toMatch(/^aw_requests_total\{operation="create",status="201"\} 1$/m)
    expect(metrics).toMatch(/^aw_workspaces 1$/m)
    await daemon.end()
    expect(isAlive(pid)).toBe(false)
    expect(existsSync(socket)).toBe(false)
    expect(at.aw('serve', '--status').code).toBe(3)
    // Without it the same commands work.
    expect(at.aw('path', 'fix-login').stdout.trim()).toBe(made.path)
    expect(at.aw('serve', '--stop')).toMatchObject({ code: 0, stdout: 'No daemon serves this home\n' })
  })
})

test('what happened is one line of JSON each, with the id of the request and no secret', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  const { at, url } = daemon
  const { token } = JSON.parse(at.aw('--json', 'token', 'create', '--scope', 'read').stdout) as { token: string }
  const answer = await fetch(`${url}/api/workspaces/none`, {
    headers: { authorization: `Bearer ${token}`, 'x-request-id': 'asked-by-me' },
  })
  expect(answer.headers.get('x-request-id')).toBe('asked-by-me')
  await daemon.end()
  const log = at.sh('cat "$AW_HOME/daemon.log"').stdout
  const records = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  expect(records).toContainEqual(expect.objectContaining({ request_id: 'asked-by-me', operation: 'show', status: 404 }))
  expect(log).not.toContain(token.slice(4))
})

test('where there is no home there is no daemon, however long its path', () => {
  using at = place()
  at.env['AW_HOME'] = join(at.folder, 'x'.repeat(120))
  expect(at.aw('serve', '--status')).toMatchObject({ code: 3, stderr: '' })
  expect(at.aw('serve', '--stop')).toMatchObject({ code: 0, stdout: 'No daemon serves this home\n' })
  expect(existsSync(at.env['AW_HOME'])).toBe(false)
})

test('there is one daemon a home', async () => {
  await using daemon = startDaemon()
  const again = daemon.at.aw('--json', 'serve')
  expect(again.code).toBe(4)
  expect(JSON.parse(again.stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({ code: 'invalid_state' })
  expect(daemon.at.aw('serve', '--detach').code).toBe(4)
  expect((await daemon.aw.list()).length).toBe(0)
})

test.each(['0.0.0.0:7433', '192.168.0.1:80', 'example.com:80', ':80', '127.0.0.1', '127.0.0.1:70000', '[::]:80'])(
  'it does not listen at %s',
  (listen) => {
    using at = place()
    const { code, stderr } = at.aw('serve', '--listen', listen)
    expect(code).toBe(2)
    expect(stderr).toContain('loopback')
    expect(at.aw('serve', '--detach', '--listen', listen)).toMatchObject({ code, stderr })
    expect(existsSync(join(at.home, 'aw.sock'))).toBe(false)
  },
)

test('it does not serve with settings that are wrong, or without a level that they require', () => {
  using at = place()
  expect(at.aw('--set', 'server.listen=everywhere', 'serve').code).toBe(2)
  expect(at.aw('--set', 'server.lisen=x', 'serve')).toMatchObject({ code: 2 })
  const file = join(at.home, 'aw.toml')
  mkdirSync(at.home, { mode: 0o700 })
  for (const [setting, said] of [
    ['[sandbox]\nallow = "*"\n', `sandbox.allow is "*" (${file}, line 2)`],
    ['[trash]\nretention_days = "7"\n', `trash.retention_days is "7" (${file}, line 2)`],
  ] as const) {
    writeFileSync(file, setting)
    for (const words of [['config', 'show'], ['doctor'], ['serve']])
      expect(at.aw(...words)).toMatchObject({ code: 2, stderr: expect.stringContaining(said) as string })
  }
  rmSync(file)
  const { code, stderr } = at.sh(
    `unshare -m bash -c 'mount --bind /bin/false /usr/bin/bwrap && exec timeout 20 node "$AW" --set sandbox.required=true serve'`,
  )
  expect([code, stderr.includes('aw does not serve: sandbox namespace')]).toEqual([6, true])
  expect(existsSync(join(at.home, 'aw.sock'))).toBe(false)
})

test('how much it takes is what the settings say, and they are shown', async () => {
  const set = ['server.header_kb=2', 'server.json_depth=2', 'server.json_keys=3']
  await using daemon = startDaemon({ listen: '127.0.0.1:0', set })
  const { at, url } = daemon
  const { token } = JSON.parse(at.aw('--json', 'token', 'create', '--scope', 'admin').stdout) as { token: string }
  const post = (path: string, body: string, more: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
      body,
    })
  const large = await post('/api/workspaces', '{"id":"a"}', { 'x-filler': 'x'.repeat(3000) })
  expect([large.status, await large.json()]).toMatchObject([
    431,
    { hint: expect.stringContaining('server.header_kb') as string },
  ])
  expect(await (await post('/api/workspaces', '{"labels":{"a":{}}}')).text()).toContain('deeper than 2')
  expect(await (await post('/api/workspaces', '{"id":"a","labels":{"a":"","b":""}}')).text()).toContain('than 3 keys')
  expect(await (await post('/mcp', '{"id":1,"params":{"a":{}}}')).text()).toContain('deeper than 2')
  expect((await post('/api/workspaces', '{"id":"a"}')).status).toBe(201)
  expect(at.aw('--set', 'server.json_depth=0', 'serve')).toMatchObject({ code: 2 })
  const shown = at.aw('--set', 'server.header_kb=4', 'config', 'show').stdout
  expect(shown).toMatch(/^server\.header_kb\t4\t--set\t/m)
})

test('what fits a command line is not too much for it', async () => {
  await using daemon = startDaemon()
  const { at, aw } = daemon
  const { id } = await aw.create({ id: 'a' })
  await aw.snapshot(id, { label: 'before' })
  await aw.fs.write(id, { path: 'work/new', content: 'x' })
  const paths = Array.from({ length: 5000 }, () => 'work/new')
  const told = at.aw('--json', 'diff', 'a@before', 'a', ...paths.flatMap((path) => ['--path', path]))
  expect(told).toMatchObject({ code: 0, stdout: expect.stringContaining('"path":"work/new"') as string, stderr: '' })
  expect((await aw.usage({ ids: paths.map(() => id) })).workspaces).toHaveLength(1)
})

test('a disk that is nearly full keeps nobody from serving: it is told, and what makes room works', async () => {
  await using daemon = startDaemon({ set: ['space.min_free_mb=999999999'] })
  const { at, aw } = daemon
  await expect
    .poll(() => at.sh('cat "$AW_HOME/daemon.log"').stdout)
    .toMatch(/"found":"space: .* are free.*Make room with aw gc"/)
  await expect(aw.create({ id: 'a' })).rejects.toMatchObject({ code: 'disk_full' })
  expect(await aw.gc({})).toMatchObject({ items: [] })
})

test('SIGTERM lets what is under way end, and a run goes on without the daemon', async () => {
  using at = place()
  await using first = startDaemon({ at })
  await first.aw.create({ id: 'busy' })
  const told: string[] = []
  for await (const item of first.aw.run({ id: 'busy', argv: ['sh', '-c', 'sleep 2; echo done > left'], detach: true }))
    told.push(item.type)
  expect(told).toContain('started')
  process.kill(first.pid, 'SIGTERM')
  await expect.poll(() => isAlive(first.pid), { timeout: 20_000 }).toBe(false)
  await first.aw[Symbol.asyncDispose]()
  await using second = startDaemon({ at })
  await expect.poll(async () => (await second.aw.runs('busy', {})).at(-1)?.state, { timeout: 30_000 }).toBe('completed')
  expect(await (await second.aw.get('busy')).files.readText('work/left')).toBe('done\n')
  await second.end()
})

test('one that was killed leaves its socket, and keeps nobody from the home', async () => {
  await using daemon = startDaemon()
  const { at, pid } = daemon
  process.kill(pid, 'SIGKILL')
  await expect.poll(() => isAlive(pid)).toBe(false)
  expect(existsSync(join(at.home, 'aw.sock'))).toBe(true)
  const { code, stderr } = at.aw('create', 'fix-login')
  expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' })
  expect(at.aw('list', '--quiet').stdout).toBe('fix-login/main\n')
  expect(at.aw('exec', 'fix-login', '--', 'echo', 'done').stdout).toBe('done\n')
})

test('what a dead process left is finished before anybody is let in, and said', async () => {
  using at = place()
  at.aw('create', 'a')
  at.env['AW_CRASH_AT'] = '5'
  expect(at.aw('destroy', 'a').code).not.toBe(0)
  delete at.env['AW_CRASH_AT']
  await using daemon = startDaemon({ at })
  await expect.poll(() => at.sh('cat "$AW_HOME/daemon.log"').stdout).toMatch(/finished destroy of a\/main/)
  expect(await daemon.aw.list()).toEqual([])
  await daemon.end()
})

test('a client of another version, or with newer settings, does it by itself', async () => {
  await using daemon = startDaemon()
  const { at } = daemon
  const operations = (): string[] =>
    at
      .sh('cat "$AW_HOME/daemon.log"')
      .stdout.split('\n')
      .flatMap((line) => /"operation":"([^"]+)","status":2/.exec(line)?.[1] ?? [])
  at.aw('create', 'a')
  // The line may come after the answer.
  await expect.poll(operations).toContain('create')
  writeFileSync(join(at.home, 'aw.toml'), '[workspaces]\nmax_size_mb = 7\n')
  expect(at.aw('create', 'b').code).toBe(0)
  expect(JSON.parse(at.aw('--json', 'show', 'b').stdout)).toMatchObject({ config: { max_size_mb: 7 } })
  expect(operations().filter((name) => name === 'create')).toHaveLength(1)
  // Settings of one's own are one's own too.
  expect(JSON.parse(at.aw('--json', '--set', 'workspaces.max_size_mb=9', 'create', 'c').stdout)).toMatchObject({
    config: { max_size_mb: 9 },
  })
})

test('streams are told when it ends', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  const { token } = JSON.parse(daemon.at.aw('--json', 'token', 'create', '--scope', 'read').stdout) as { token: string }
  const answer = await fetch(`${daemon.url}/api/events?follow=true`, {
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
  })
  const text = answer.text()
  await sleep(100)
  await daemon.end()
  expect(await text).toMatch(/event: closing\ndata: \{"after":/)
})

test('the package has the client', async () => {
  await using daemon = startDaemon()
  const program = `
    import { connectAw } from '${launcher.replace('aw.cjs', 'client.js')}'
    await using aw = connectAw({ socket: process.argv[1] })
    const workspace = await aw.create({ id: 'x' })
    await workspace.files.upload('work/a', 'one')
    const { stdout } = await workspace.exec(['cat', 'work/a'], { cwd: '..', stdin: 'none' }).text()
    console.log(stdout)`
  const { stdout, stderr } = daemon.at.sh(
    `node --input-type=module -e "$PROGRAM" "$AW_HOME/aw.sock"`.replace(
      '"$PROGRAM"',
      `'${program.replaceAll("'", String.raw`'\''`)}'`,
    ),
  )
  expect([stderr, stdout]).toEqual(['', 'one\n'])
  expect(() => connectAw({})).toThrow('A daemon is named by')
})
