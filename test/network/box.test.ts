/** A box whose only way out is the proxy: what a command inside reaches, and what it does not. */
import { chownSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LogEntry } from '../../src/sys/proxy/log.ts'
import { proxyCommand } from '../../src/sys/proxy/program.ts'
import { settingsText } from '../../src/sys/proxy/settings.ts'
import { run, startBox, systemPath, testFolder } from '../box/harness.ts'
import { upstream } from './place.ts'

const proxyPort = 3128
const ordinary = 65_534

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
  async function boxed(allow: readonly string[]) {
    const folder = testFolder()
    const [settings, log] = [join(folder, 'settings.json'), join(folder, 'network.log')]
    writeFileSync(settings, settingsText({ workspace: 'task/agent', allow }), { mode: 0o400 })
    const descriptors = [openSync(log, 'wx', 0o600)]
    if (uid !== undefined) chownSync(settings, uid, uid)
    const command = [...proxyCommand(), settings].map((argument) => ['X', argument] as const)
    const { client } = await startBox({
      level: 'namespace',
      spec: [...command, ['x', 4], ['P', proxyPort]],
      descriptors,
      ...(uid === undefined ? {} : { uid }),
    })
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
    return { client, curl, lines }
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
      /^0: aw: example\.com is not on the list[^]* aw start task\/agent --allow example\.com\n 403 000$/,
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

  test('an empty list is nothing', async () => {
    const { curl, lines } = await boxed([])
    expect(await curl(`http://127.0.0.1:${site.port}/`)).toMatch(/ 403 000$/)
    expect(lines()).toMatchObject([{ verdict: 'refused', reason: 'not_listed' }])
  })
})
