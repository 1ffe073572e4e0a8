/** A box whose only way out is the proxy: what a command inside reaches, and what it does not. */
import { spawnSync, type SpawnSyncOptions } from 'node:child_process'
import { chownSync, cpSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LogEntry } from '../../../src/drivers/sandbox/proxy/log.ts'
import { proxyCommand } from '../../../src/drivers/sandbox/proxy/program.ts'
import { settingsText } from '../../../src/drivers/sandbox/proxy/settings.ts'
import { inRoot } from '../../../tools/root.ts'
import {
  exec,
  finished,
  procFile,
  processesWith,
  run,
  startBox,
  systemPath,
  testFolder,
  until,
} from '../box/harness.ts'
import { type } from '../box/raw.ts'
import { proxyUser, upstream } from './fixture.ts'

const proxyPort = 3128
const ordinary = 65_534
const limits = { log_check_ms: 200 }

let site: Awaited<ReturnType<typeof upstream>>
let other: Awaited<ReturnType<typeof upstream>>

beforeAll(async () => {
  site = await upstream(createHttp((request, response) => response.end(`reached ${request.url}`)))
  other = await upstream(createHttp((_request, response) => response.end('never')))
})

afterAll(async () => {
  await site[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

describe.each([
  ['root', undefined],
  ['an ordinary user', ordinary],
])('started by %s', (_name, uid) => {
  async function boxed(allow: readonly string[], program = proxyCommand()) {
    const folder = testFolder()
    const [settings, log] = [join(folder, 'settings.json'), join(folder, 'logs', 'network.log')]
    const user = uid === undefined ? proxyUser : undefined
    writeFileSync(settings, settingsText({ workspace: 'task/agent', allow, user, limits }), { mode: 0o400 })
    mkdirSync(join(folder, 'logs'), { mode: 0o700 })
    if (uid !== undefined) for (const path of [settings, join(folder, 'logs')]) chownSync(path, uid, uid)
    const command = [...program, settings].map((argument) => ['X', argument] as const)
    const box = await startBox({
      level: 'namespace',
      spec: [...command, ['x', log], ['P', proxyPort]],
      ...(uid === undefined ? {} : { uid }),
    })
    const { client } = box
    const env = [systemPath, ...['http', 'https'].map((scheme) => `${scheme}_proxy=http://127.0.0.1:${proxyPort}`)]
    /** Status and body, or how curl failed: 7 could not connect, 6 could not look up, 56 no tunnel. */
    const curl = async (...args: readonly string[]): Promise<string> => {
      const argv = ['curl', '-sS', '-m', '20', '-w', ' %{http_code} %{http_connect}', ...args]
      const { stdout, exit } = await run(
        client,
        argv,
        env.map((one) => ['e', one] as const),
      )
      return `${exit['x']}: ${stdout}`
    }
    const lines = (): LogEntry[] =>
      readFileSync(log, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as LogEntry)
    const pid = (): number => processesWith(settings)[0] ?? 0
    return { ...box, curl, lines, log, pid, settings }
  }

  test('a listed host is reached, plainly and through a tunnel, and nothing else is', async () => {
    const { client, curl, lines } = await boxed([`127.0.0.1:${site.port}`])
    expect(await curl(`http://127.0.0.1:${site.port}/plain`)).toBe('0: reached /plain 200 000')
    expect(await curl('-p', `http://127.0.0.1:${site.port}/tunnel`)).toBe('0: reached /tunnel 200 200')
    expect(await curl('-X', 'POST', '-d', 'body', `http://127.0.0.1:${site.port}/post`)).toBe(
      '0: reached /post 200 000',
    )

    const refused = await curl('http://example.com/')
    expect(refused).toMatch(
      /^0: aw: example\.com is not on the list[^]* aw start task\/agent [^]*--allow example\.com\n[^]* 403 000$/,
    )
    expect(await curl('https://example.com/')).toBe('56:  000 403')
    expect(await curl('http://169.254.169.254/latest/meta-data/')).toMatch(/ 403 000$/)
    expect(await curl('http://[::ffff:169.254.169.254]/')).toMatch(/ 403 000$/)
    expect(await curl(`http://127.0.0.1:${other.port}/`)).toMatch(/may be reached[^]* 403 000$/)
    expect(await curl(`http://localhost:${site.port}/`)).toMatch(/ 403 000$/)

    const direct = ['--noproxy', '*']
    expect(await curl(...direct, `http://127.0.0.1:${site.port}/`)).toMatch(/^7: /)
    expect(await curl(...direct, 'http://1.1.1.1/')).toMatch(/^7: /)
    expect(await curl(...direct, 'http://169.254.169.254/')).toMatch(/^7: /)
    expect(await curl(...direct, 'http://[2606:4700::1111]/')).toMatch(/^7: /)
    expect(await curl(...direct, 'http://example.com/')).toMatch(/^6: /)
    const dns = `import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('1.1.1.1', 53))`
    expect((await run(client, ['python3', '-c', dns])).stderr).toContain('Network is unreachable')

    // The end of a tunnel may be written after the beginning of what came next.
    const sorted = (all: readonly unknown[]): string[] => all.map((one) => JSON.stringify(one)).toSorted()
    const verdicts = () => sorted(lines().map(({ method, host, verdict, reason }) => [method, host, verdict, reason]))
    const passed = (method: string) => [
      [method, '127.0.0.1', 'allowed', 'open'],
      [method, '127.0.0.1', 'allowed', null],
    ]
    const not = (method: string, host: string, reason = 'not_listed') => [method, host, 'refused', reason]
    const expected = sorted([
      ...passed('GET'),
      ...passed('CONNECT'),
      ...passed('POST'),
      not('GET', 'example.com'),
      not('CONNECT', 'example.com'),
      not('GET', '169.254.169.254'),
      not('GET', '169.254.169.254'),
      not('GET', '127.0.0.1', 'port_not_listed'),
      not('GET', 'localhost'),
    ])
    await expect.poll(verdicts, { timeout: 30_000 }).toEqual(expected)
  })

  /** Of every thread. */
  const status = (pid: number, name: string): string[] => {
    const of = (thread: string) =>
      new RegExp(`^${name}:[ \\t]*(.*)$`, 'm').exec(procFile(pid, `task/${thread}/status`))?.[1]
    return [
      ...new Set(readdirSync(`/proc/${pid}/task`).map((thread) => of(thread)?.replaceAll('\t', ' ').trim() ?? '')),
    ]
  }

  test('the proxy is never root, in any of its threads, and has no capability', async () => {
    const { curl, pid } = await boxed([`127.0.0.1:${site.port}`])
    expect(await curl(`http://127.0.0.1:${site.port}/`)).toMatch(/ 200 000$/)
    const user = String(uid ?? proxyUser)
    const proxy = pid()
    expect(status(proxy, 'Uid')).toEqual([Array.from({ length: 4 }, () => user).join(' ')])
    expect(status(proxy, 'Gid')).toEqual([Array.from({ length: 4 }, () => user).join(' ')])
    expect(status(proxy, 'Groups')).toEqual([''])
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapAmb']) expect(status(proxy, set)).toEqual(['0'.repeat(16)])
    expect(status(proxy, 'NoNewPrivs')).toEqual(['1'])
    // Not even another process of its user reads its memory.
    if (uid === undefined) expect(statSync(`/proc/${proxy}/mem`).uid).toBe(0)
  })

  const tunnel = (port: number): string => `
import socket, time
s = socket.create_connection(('127.0.0.1', ${proxyPort}))
s.sendall(b'CONNECT 127.0.0.1:${port} HTTP/1.1\\r\\nHost: 127.0.0.1:${port}\\r\\n\\r\\n')
while b'\\r\\n\\r\\n' not in s.recv(1000): pass
s.sendall(b'12345')
print(s.recv(100).decode(), flush=True)
time.sleep(1000)`

  test.each(['STOP', 'SIGTERM'] as const)(
    'a tunnel that was open when its box ended (%s) has its bytes',
    async (how) => {
      await using echo = await upstream(createServer((socket) => socket.pipe(socket)))
      const { client, supervisor, ended, lines, pid } = await boxed([`127.0.0.1:${echo.port}`])
      const id = exec(client, ['python3', '-c', tunnel(echo.port)])
      await until(() => client.output(id).toString() === '12345\n', 'it came back')
      if (how === 'STOP') client.send(type.stop, 1, Buffer.alloc(4))
      else supervisor.kill(how)
      await ended
      expect(pid()).toBe(0)
      expect(lines()).toMatchObject([
        { reason: 'open', up: 0 },
        { verdict: 'allowed', method: 'CONNECT', up: 5, down: 5 },
      ])
    },
  )

  test('the proxy ends with a supervisor that was killed', async () => {
    await using echo = await upstream(createServer((socket) => socket.pipe(socket)))
    const { client, supervisor, pid } = await boxed([`127.0.0.1:${echo.port}`])
    const id = exec(client, ['python3', '-c', tunnel(echo.port)])
    await until(() => client.output(id).toString() === '12345\n', 'it came back')
    expect(pid()).not.toBe(0)
    supervisor.kill('SIGKILL')
    await until(() => pid() === 0, 'it is gone')
  })

  /** Asks once, and waits for the whole of it in a log that had nothing. */
  const asked = async ({ curl, lines }: Awaited<ReturnType<typeof boxed>>): Promise<void> => {
    expect(await curl(`http://127.0.0.1:${site.port}/`)).toMatch(/ 200 000$/)
    await expect.poll(() => lines().map(({ reason }) => reason), { timeout: 30_000 }).toEqual(['open', null])
  }
  const twoLines = /^\{"id":\d+,.*"reason":"open".*\}\n\{"id":\d+,.*"reason":null.*\}\n\0/

  test('a log that is full is put aside while the box lives, and nothing is lost', async () => {
    const box = await boxed([`127.0.0.1:${site.port}`])
    await asked(box)
    const first = box.pid()
    truncateSync(box.log, 64 * 2 ** 20)
    const socket = `import socket; s = socket.create_connection(('127.0.0.1', ${proxyPort})); print(s.recv(1))`
    const open = exec(box.client, ['python3', '-c', socket])
    await until(() => box.pid() !== first, 'it has ended')
    await finished(box.client, open)
    await asked(box)
    expect(readFileSync(`${box.log}.1`, 'latin1')).toMatch(twoLines)
  })

  test('a log that has grown is put aside when nothing is under way', async () => {
    await using echo = await upstream(createServer((socket) => socket.pipe(socket)))
    const box = await boxed([`127.0.0.1:${site.port}`, `127.0.0.1:${echo.port}`])
    await asked(box)
    const first = box.pid()
    const id = exec(box.client, ['python3', '-c', tunnel(echo.port)])
    await until(() => box.client.output(id).toString() === '12345\n', 'it came back')
    truncateSync(box.log, 50 * 2 ** 20)
    await sleep(5 * limits.log_check_ms)
    expect(box.pid()).toBe(first)
    box.client.send(type.signal, id, Buffer.from([9, 0, 0, 0]))
    await until(() => box.pid() !== first, 'it has ended')
    await asked(box)
    expect(readFileSync(`${box.log}.1`, 'latin1')).toMatch(/"reason":"open"[^]*"down":5/)
  })

  test('an empty list is nothing', async () => {
    const { curl, lines } = await boxed([])
    expect(await curl(`http://127.0.0.1:${site.port}/`)).toMatch(/ 403 000$/)
    expect(lines()).toMatchObject([{ verdict: 'refused', reason: 'not_listed' }])
  })

  test('its program may be where only its owner gets to', async () => {
    const folder = join(testFolder(), 'private')
    mkdirSync(folder, { mode: 0o700 })
    for (const part of ['package.json', 'src/domain', 'src/sys/home/bridge-socket.ts', 'src/drivers/sandbox/proxy'])
      cpSync(inRoot(part), join(folder, part), { recursive: true })
    if (uid !== undefined) chownSync(folder, uid, uid)
    const program = [...proxyCommand().slice(0, -1), join(folder, 'src/drivers/sandbox/proxy/main.ts')]
    const { curl, pid } = await boxed([`127.0.0.1:${site.port}`], program)
    expect(await curl(`http://127.0.0.1:${site.port}/`)).toMatch(/ 200 000$/)
    expect(status(pid(), 'Uid')[0]).toMatch(new RegExp(`^${uid ?? proxyUser} `))
  })
})

test('the proxy does not serve as root, nor as nobody in particular', () => {
  const folder = testFolder()
  const file = join(folder, 'settings.json')
  const [program = '', ...args] = proxyCommand()
  const started = (user: number | undefined, options: SpawnSyncOptions = {}): string => {
    writeFileSync(file, settingsText({ workspace: 'task/agent', allow: [], user }), { mode: 0o644 })
    const { status: code, stderr } = spawnSync(program, [...args, file], { ...options, env: {}, timeout: 60_000 })
    return `${code} ${String(stderr)}`
  }
  expect(started(undefined)).toMatch(/^1 [^]*never runs as root/)
  expect(started(proxyUser, { uid: ordinary, gid: ordinary })).toMatch(/^1 [^]*never runs as root/)
})
