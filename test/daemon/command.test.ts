/** The command as people have it where a daemon serves: a small program asks it, and Node is not started. */
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { launcher, place, type Place, type Ran } from '../cli/built-command.ts'
import { startDaemon } from './daemon.ts'

const command = join(dirname(launcher), 'aw')

/** A `node` that says that it was started, in front of the real one. */
function withMark(at: Place): string {
  const folder = join(at.folder, 'marked')
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'node'),
    `#!/bin/sh\necho started >> "${at.folder}/marks"\nexec "${process.execPath}" "$@"\n`,
    {
      mode: 0o755,
    },
  )
  return `${folder}:${at.env['PATH']}`
}

interface Called extends Ran {
  readonly byNode: boolean
}

function call(at: Place, args: readonly string[], more: Readonly<Record<string, string>> = {}): Called {
  const env = { ...at.env, PATH: withMark(at), ...more }
  const script = `rm -f "$0/marks"; shift 0; "$@"; code=$?; test -e "$0/marks" && echo by-node >&2; exit $code`
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script, at.folder, command, ...args], {
    cwd: at.folder,
    env,
    encoding: 'utf8',
    input: '',
  })
  const byNode = stderr.endsWith('by-node\n')
  return { code: status, stdout, stderr: byNode ? stderr.slice(0, -'by-node\n'.length) : stderr, byNode }
}

describe.each(['same', 'ordinary'] as const)('as %s user', (user) => {
  test('it shows what Node would, and Node is not started', async () => {
    await using daemon = startDaemon({ user })
    const { at } = daemon
    const asUser = user === 'ordinary' && process.getuid?.() === 0
    at.aw('create', 'one')
    at.aw('snapshot', 'one', '--label', 'ä "quoted" \\ \u{1f600}')
    const lines = [
      ['path', 'one'],
      ['list'],
      ['list', '--json'],
      ['show', 'one'],
      ['snapshots', 'one'],
      ['snapshots', 'one', '--json'],
      ['path', 'nobody'],
      ['path', 'nobody', '--json'],
      ['destroy', 'nobody', '--if-exists'],
      ['create', 'one'],
      ['fs', 'list', 'one', '.'],
    ]
    for (const line of lines) {
      const { byNode, ...served } = asUser ? { ...servedAs(at, line), byNode: false } : call(at, line)
      const plain = at.aw(...line)
      expect([line, byNode, served]).toEqual([line, false, plain])
    }
  })
})

/** The socket of an ordinary user is theirs alone: root asks nobody else's daemon. */
function servedAs(at: Place, line: readonly string[]): Ran {
  const quoted = line.map((word) => `'${word}'`).join(' ')
  // Where no program is found nothing but the daemon can have answered.
  return at.sh(`PATH=/nowhere; command -v node && exit 99; "${command}" ${quoted}`)
}

test('what it does is done once, under the name of the user, and told in the log', async () => {
  await using daemon = startDaemon()
  const { at, aw } = daemon
  expect(call(at, ['create', 'one'])).toMatchObject({ code: 0, byNode: false })
  expect(call(at, ['fork', 'one', 'two'])).toMatchObject({ code: 0, byNode: false })
  expect(call(at, ['fork', 'one', 'two'])).toMatchObject({ code: 4, byNode: false })
  expect((await aw.list()).map(({ task }) => task)).toEqual(['one', 'two'])
  const lease = JSON.parse(call(at, ['lease', 'acquire', 'one', '--holder', 'me', '--json']).stdout) as { id: string }
  expect(call(at, ['snapshot', 'one'], { AW_LEASE: lease.id })).toMatchObject({ code: 0, byNode: false })
  const other = `ls_${'0'.repeat(26)}`
  expect(call(at, ['snapshot', 'one'], { AW_LEASE: other })).toMatchObject({ code: 9, byNode: false })
  const events = at.aw('events', '--json').stdout.trim().split('\n')
  const actors = events.map((line) => (JSON.parse(line) as { meta: { actor: string } }).meta.actor)
  expect(new Set(actors)).toContain(`user:${process.getuid?.()}`)
})

test('what is about more than words is done by Node', async () => {
  await using daemon = startDaemon()
  const { at } = daemon
  mkdirSync(join(at.folder, 'project'))
  writeFileSync(join(at.folder, 'project', 'file'), 'content')
  expect(call(at, ['create', 'one', '--from', 'project'])).toMatchObject({ code: 0, byNode: true })
  expect(call(at, ['fs', 'read', 'one', 'work/file'])).toMatchObject({ code: 0, byNode: true, stdout: 'content' })
  expect(call(at, ['exec', 'one', '--isolation', 'none', '--', 'echo', 'hi'])).toMatchObject({ byNode: true })
  expect(call(at, ['--version'])).toMatchObject({ code: 0, byNode: true })
  expect(call(at, [])).toMatchObject({ byNode: true })
  expect(call(at, ['pth', 'one'])).toMatchObject({ code: 2, byNode: true })
  // Settings of one's own.
  expect(call(at, ['path', 'one', '--set', 'locks.timeout_ms=1'])).toMatchObject({ code: 0, byNode: true })
  expect(call(at, ['path', 'one'], { AW_LOCKS_TIMEOUT_MS: '1' })).toMatchObject({ code: 0, byNode: true })
  expect(call(at, ['path', 'one', '--home', at.home])).toMatchObject({ code: 0, byNode: true })
  // A word that is no text is told as such.
  const odd = at.sh(`"${command}" path "$(printf 'a\\377')"`)
  expect([odd.code, odd.stderr]).toEqual([2, expect.stringContaining('not UTF-8')])
  // Settings that have changed since.
  writeFileSync(join(at.home, 'aw.toml'), '[locks]\ntimeout_ms = 5000\n')
  expect(call(at, ['path', 'one'])).toMatchObject({ code: 0, byNode: true })
})

test('through a link, as npm makes them, it finds itself', async () => {
  await using daemon = startDaemon()
  const { at } = daemon
  call(at, ['create', 'one'])
  const link = join(at.folder, 'linked-aw')
  symlinkSync(command, link)
  expect(at.sh(`PATH=/usr/bin:/bin; "${link}" path one`)).toMatchObject({ code: 0, stderr: '' })
})

const problem = JSON.stringify({ code: 'daemon_unavailable', detail: 'another version', data: { sent: false } })
const another = `HTTP/1.1 412 No\r\nContent-Type: application/problem+json\r\nContent-Length: ${problem.length}\r\n\r\n${problem}`

/** In the place of a daemon. */
async function listening(at: Place, answer: (request: string) => string | false | undefined): Promise<Server> {
  const server = createServer((socket) => {
    let text = ''
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      text += String(data)
      // Node is told to do it itself.
      const said = text.startsWith('POST /api/daemon/command ') ? text.includes('"rows"') && answer(text) : another
      if (said === undefined) socket.destroy()
      else if (said !== false) socket.end(said, 'latin1')
    })
  })
  mkdirSync(at.home, { recursive: true, mode: 0o700 })
  await new Promise<void>((resolve) => void server.listen(join(at.home, 'aw.sock'), resolve))
  return server
}

const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n'
const out = (text: string): string => `\u0001\0\0${String.fromCharCode(text.length >> 8, text.length & 255)}${text}`

/** Beside a server in this process nothing may wait for it. */
function later(at: Place, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const child = spawn(command, args, { cwd: at.folder, env: { ...at.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data) => (stdout += String(data)))
  child.stderr.on('data', (data) => (stderr += String(data)))
  return new Promise((resolve) => void child.on('close', (code) => resolve({ code, stdout, stderr })))
}

/** Begun before all others, and seen after them: it takes as long as its limit is. */
let silence: Promise<Ran & { readonly ms: number }>
beforeAll(async () => {
  const at = place()
  const server = await listening(at, () => false)
  const began = performance.now()
  silence = later(at, ['destroy', 'one']).then((ran) => ({ ...ran, ms: performance.now() - began }))
  return async () => {
    await silence
    server.close()
    at[Symbol.dispose]()
  }
})

test('a daemon that begins and does not end is told, and nothing is done twice', async () => {
  using at = place()
  const asked: string[] = []
  const server = await listening(at, (request) => {
    asked.push(request)
    return head + out('half')
  })
  const human = await later(at, ['destroy', 'one'])
  expect(human).toMatchObject({ code: 1, stdout: 'half' })
  expect(human.stderr).toBe(
    'aw: The daemon ended before it had answered\n  hint: What was asked for may have been done all the same: see aw events\n',
  )
  const json = await later(at, ['destroy', 'one', '--json'])
  expect([json.code, (JSON.parse(json.stderr) as { code: string }).code]).toEqual([1, 'daemon_unavailable'])
  expect(asked).toHaveLength(2)
  expect(asked[0]).toContain('"args":["destroy","one"]')
  server.close()
})

test('the values of variables are nobody else’s business', async () => {
  using at = place()
  let asked = ''
  const server = await listening(at, (request) => {
    asked = request
    return `${head}\0\0\0\0\u0001\u0005`
  })
  expect(await later(at, ['list'], { AW_TOKEN: 'hidden', SECRET: 'hidden', NO_COLOR: '1' })).toMatchObject({ code: 5 })
  expect(asked).toContain('"AW_TOKEN":""')
  expect(asked).toContain('"NO_COLOR":"1"')
  expect(asked).not.toContain('hidden')
  server.close()
})

test('one that has done nothing is no hindrance: gone, turned away, or somebody else’s', async () => {
  using at = place()
  at.aw('create', 'one')
  const path = at.aw('path', 'one').stdout
  const plain = { code: 0, stdout: path, stderr: '' }
  const answers = [undefined, '', 'HTTP/1.1 412 No\r\n\r\n', 'HTTP/1.1 404 No\r\n\r\n', 'nonsense\r\n\r\n']
  for (const answer of answers) {
    const server = await listening(at, () => answer)
    expect([answer, await later(at, ['path', 'one'])]).toEqual([answer, plain])
    await new Promise((resolve) => server.close(resolve))
  }
  writeFileSync(join(at.home, 'aw.sock'), '')
  expect(call(at, ['path', 'one'])).toMatchObject({ ...plain, byNode: true })
  if (process.getuid?.() !== 0) return
  at.sh('rm "$AW_HOME/aw.sock"')
  let asked = 0
  const server = await listening(at, () => {
    asked += 1
    return head
  })
  chownSync(join(at.home, 'aw.sock'), 65_534, 65_534)
  expect(await later(at, ['path', 'one'])).toEqual(plain)
  expect(asked).toBe(0)
  server.close()
})

test('a reader that has gone is no failure, a full disk is one', async () => {
  await using daemon = startDaemon()
  const { at } = daemon
  at.aw('create', 'one')
  const quiet = at.sh(`PATH=/usr/bin:/bin; ("${command}" show one --json; echo $? >&2) | true`)
  expect(quiet.stderr).toBe('0\n')
  const full = at.sh(`PATH=/usr/bin:/bin; "${command}" show one --json > /dev/full`)
  expect([full.code, full.stderr]).toEqual([7, expect.stringContaining('"code":"disk_full"')])
})

test('what was asked for is done, also when nobody reads what came of it', async () => {
  await using daemon = startDaemon()
  const { at, aw } = daemon
  const names = Array.from({ length: 12 }, (_, index) => `one-${index}`)
  for (const name of names) call(at, ['create', name])
  const piped = at.sh(`PATH=/usr/bin:/bin; ("${command}" destroy ${names.slice(0, 6).join(' ')}; echo $? >&2) | true`)
  expect(piped.stderr).toBe('0\n')
  const full = at.sh(`PATH=/usr/bin:/bin; "${command}" destroy ${names.slice(6).join(' ')} > /dev/full`)
  expect([full.code, full.stderr]).toEqual([7, expect.stringContaining('was done')])
  expect(await aw.list()).toEqual([])
})

test('who asks is not in the workspace meanwhile', async () => {
  await using daemon = startDaemon()
  const { at } = daemon
  const path = at.aw('create', 'one').stdout.trim()
  const inside = at.sh(`PATH=/usr/bin:/bin; exec env -C "${path}" "${command}" destroy one`)
  expect(inside).toMatchObject({ code: 0, stderr: '' })
})

test('where Node does it, it does it where it was called', async () => {
  await using daemon = startDaemon()
  const { at } = daemon
  mkdirSync(join(at.folder, 'here', 'project'), { recursive: true })
  writeFileSync(join(at.folder, 'here', 'project', 'file'), 'content')
  const made = at.sh(`cd here && "${command}" create one --from project`)
  expect([made.code, made.stderr]).toEqual([0, ''])
  expect(at.aw('fs', 'read', 'one', 'work/file').stdout).toBe('content')
})

/** Those that the daemon has taken; one that waits for that has no number yet. */
const connections = (at: Place): string[] =>
  readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .flatMap(([, , , , , state, inode = '0', path]) =>
      state === '03' && inode !== '0' && path === join(at.home, 'aw.sock') ? [inode] : [],
    )

/** The daemon has one more connection, and has answered somebody who came later: so it has heard what is asked there. */
async function isAsked(at: Place, before: readonly string[]): Promise<void> {
  await expect.poll(() => connections(at).filter((one) => !before.includes(one))).toHaveLength(1)
  expect(call(at, ['list']).code).toBe(0)
}

test('a daemon that ends undoes what it has begun, and says so', async () => {
  await using daemon = startDaemon({ set: ['server.drain_ms=100'] })
  const { at } = daemon
  at.aw('run', '-q', '--detach', '--id', 'slow', '--isolation', 'none', '--', 'sleep', '60')
  const before = connections(at)
  const waiting = later(at, ['wait', 'slow'])
  await isAsked(at, before)
  process.kill(daemon.pid, 'SIGTERM')
  const told = await waiting
  expect([told.code, told.stderr]).toEqual([130, expect.stringContaining('The daemon ends')])
})

test('where an output is closed nothing else is taken for it', async () => {
  await using daemon = startDaemon()
  const { at, aw } = daemon
  expect(at.sh(`PATH=/nowhere; "${command}" create one >&-`)).toEqual({ code: 0, stdout: '', stderr: '' })
  expect(at.sh(`PATH=/nowhere; "${command}" path nobody <&- >&- 2>&-`).code).toBe(3)
  expect((await aw.list()).map(({ task }) => task)).toEqual(['one'])
})

test('whoever leaves ends what they asked for, and nobody else', async () => {
  await using daemon = startDaemon()
  const { at, aw } = daemon
  at.aw('run', '-q', '--detach', '--id', 'slow', '--isolation', 'none', '--', 'sleep', '60')
  const before = connections(at)
  const child = spawn(command, ['wait', 'slow'], { cwd: at.folder, env: at.env, stdio: 'ignore' })
  const ended = new Promise((resolve) => void child.on('close', (_, signal) => resolve(signal)))
  await isAsked(at, before)
  child.kill('SIGINT')
  expect(await ended).toBe('SIGINT')
  const log = (): string => at.sh('cat "$AW_HOME/daemon.log"').stdout
  await expect.poll(log).toContain('"whole":false')
  expect((await aw.list()).map(({ state }) => state)).toEqual(['running'])
  at.aw('cancel', 'slow')
})

test('it is for the user of the home alone, at the machine itself', async () => {
  await using daemon = startDaemon({ listen: '127.0.0.1:0' })
  const { at, url } = daemon
  const { token } = JSON.parse(at.aw('--json', 'token', 'create', '--scope', 'admin').stdout) as { token: string }
  const body = JSON.stringify({
    args: ['list'],
    cwd: '/',
    env: {},
    stdout: false,
    stderr: false,
    columns: 80,
    rows: 24,
  })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/daemon/command`, { method: 'POST', headers, body })
  expect(answer.status).toBe(409)
})

test('on a terminal it looks the same', async () => {
  await using daemon = startDaemon()
  const { at } = daemon
  at.aw('create', 'one')
  const seen = (...program: readonly string[]): string =>
    at.sh(`script -qec "stty cols 60; ${program.join(' ')}" /dev/null`).stdout
  expect(seen(command, 'list')).toBe(seen('node', launcher, 'list'))
  expect(seen(command, 'list')).toContain('\u001b[')
  expect(seen(command, 'path', 'nobody')).toBe(seen('node', launcher, 'path', 'nobody'))
})

test('a daemon that says nothing is not waited for for ever', async () => {
  const { code, stderr, ms } = await silence
  expect([code, stderr]).toEqual([1, expect.stringContaining('aw: The daemon does not answer\n')])
  expect(ms).toBeGreaterThan(20_000)
})
