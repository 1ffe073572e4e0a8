/** The real program as a broker: what its upstream gets, what the box gets back, and what does not pass. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Broker } from '../../../src/domain/network/broker.ts'
import { proxyCommand } from '../../../src/drivers/sandbox/proxy/program.ts'
import { settingsText } from '../../../src/drivers/sandbox/proxy/settings.ts'
import { ownAuthority, type OwnAuthority } from './own-authority.ts'
import { type Place, proxyUser, readAll, readUntil, reasonOf, seen, startProxy, statusOf, upstream } from './fixture.ts'

const secret = 'sk-very-secret-0123456789'

/** Says what it was asked, and with `X-Say` says more: a status and headers, as JSON. */
async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString('latin1')
  } catch {
    return
  }
  const text = JSON.stringify({ method: request.method, url: request.url, raw: request.rawHeaders, body })
  const [status, headers] = JSON.parse(String(request.headers['x-say'] ?? '[200,[]]')) as [number, string[]]
  response.writeHead(status, ['Content-Length', String(text.length), ...headers]).end(text)
}

let proxy: Place
let site: Awaited<ReturnType<typeof upstream>>
let at: string

beforeAll(async () => {
  site = await upstream(createHttp((request, response) => void echo(request, response)))
  at = `127.0.0.1:${site.port}`
  const headers = { 'X-Api-Key': secret, 'x-version': '7' }
  const brokers: Broker[] = [
    { name: 'model', upstream: `http://${at}/v1`, headers },
    { name: 'root', upstream: `http://${at}`, headers: { Authorization: `Bearer ${secret}` } },
    { name: 'plain', upstream: `http://localhost:${site.port}`, headers: {} },
    { name: 'nobody', upstream: 'http://127.0.0.1:1', headers },
  ]
  proxy = await startProxy([], {}, undefined, { brokers })
})

afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

const request = (path: string, more = '', method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1:${proxy.port}\r\nConnection: close\r\n${more}\r\n`
const ask = (path: string, more = '', method = 'GET'): Promise<string> => proxy.ask(request(path, more, method))
const saying = (path: string, status: number, ...headers: string[]): Promise<string> =>
  ask(path, `X-Say: ${JSON.stringify([status, headers])}\r\n`)
const headOf = (answer: string): string => answer.slice(0, answer.indexOf('\r\n\r\n'))
const lastLine = async (before: number): Promise<unknown> => (await proxy.ended(before + 1)).at(-1)
const countNow = async (): Promise<number> => (await proxy.ended(0)).length

describe('what the upstream gets', () => {
  test('the path below its own, its headers, and nothing of the box under their names', async () => {
    const before = await countNow()
    const dummies = ['X-API-KEY: box', 'x_api_key: box', 'Authorization: Bearer box', 'X-Version: 1', 'Cookie: a=b']
    const answer = await ask('/.aw/model/messages?beta=true', `${dummies.join('\r\n')}\r\nX-Own: 1\r\n`)
    expect(seen(answer)).toMatchObject({
      method: 'GET',
      url: '/v1/messages?beta=true',
      raw: ['Host', at, 'Cookie', 'a=b', 'X-Own', '1', 'Connection', 'close', 'X-Api-Key', secret, 'x-version', '7'],
    })
    expect(await lastLine(before)).toMatchObject({
      method: 'GET',
      host: '127.0.0.1',
      port: site.port,
      address: '127.0.0.1',
      verdict: 'allowed',
      reason: null,
    })
    expect((await proxy.ended(0)).at(-1)?.up).toBeGreaterThan(100)
  })

  test.each([
    ['/.aw/model', '/v1'],
    ['/.aw/model/', '/v1/'],
    ['/.aw/model?a=/../..', '/v1?a=/../..'],
    ['/.aw/root', '/'],
    ['/.aw/root?a', '/?a'],
    ['/.aw/model/a/../b', '/v1/a/../b'],
    ['/.aw/model/a%2fb', '/v1/a%2fb'],
    ['/.aw/model/.aw/root/x', '/v1/.aw/root/x'],
  ])('%s is %s', async (path, url) => {
    expect(seen(await ask(path)).url).toBe(url)
  })

  test('a whole url of the proxy itself is the same', async () => {
    for (const host of ['127.0.0.1', 'localhost']) {
      const here = `${host}:${proxy.port}`
      const answer = await proxy.ask(
        `GET http://${here}/.aw/model/x HTTP/1.1\r\nHost: ${here}\r\nConnection: close\r\n\r\n`,
      )
      expect(seen(answer).raw).toContain(secret)
    }
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])('%s, with its body', async (method) => {
    const answer = await proxy.ask(`${request('/.aw/model/x', 'Content-Length: 5\r\n', method)}hello`)
    expect(seen(answer)).toMatchObject({ method, body: 'hello' })
    const chunked = await proxy.ask(
      `${request('/.aw/model/x', 'Transfer-Encoding: chunked\r\n', method)}5\r\nhello\r\n0\r\n\r\n`,
    )
    expect(seen(chunked)).toMatchObject({ method, body: 'hello' })
  })

  test('a header cannot be taken away by naming it', async () => {
    const text = `GET /.aw/model/x HTTP/1.1\r\nHost: 127.0.0.1:${proxy.port}\r\nConnection: close, x-api-key, host\r\n\r\n`
    expect(seen(await proxy.ask(text)).raw).toEqual(expect.arrayContaining([secret, 'Host', at]))
  })

  test('a broker may add nothing, and a name is looked up', async () => {
    expect(seen(await ask('/.aw/plain/x')).raw).toEqual(['Host', `localhost:${site.port}`, 'Connection', 'close'])
  })
})

describe('what does not pass', () => {
  test.each([
    ['another broker', '/.aw/model/../root/x', 400, 'path_outside'],
    ['encoded dots', '/.aw/model/%2e%2e/root/x', 400, 'path_outside'],
    ['encoded twice', '/.aw/model/%252e%252e/x', 400, 'path_outside'],
    ['encoded slashes', '/.aw/model/a%2f..%2f..%2fx', 400, 'path_outside'],
    ['backslashes', '/.aw/model/a\\..\\..\\x', 400, 'path_outside'],
    ['a host in the path', '/.aw/root//evil.example/x', 400, 'path_outside'],
    ['no such broker', '/.aw/other/x', 404, 'no_broker'],
    ['no name', '/.aw//model/x', 404, 'no_broker'],
    ['dots for a name', '/.aw/../model/x', 404, 'no_broker'],
    ['an encoded name', '/.aw/%6dodel/x', 404, 'no_broker'],
    ['a name in capitals', '/.aw/MODEL/x', 404, 'no_broker'],
    ['a fragment', '/.aw/model/x#y', 404, 'no_broker'],
    ['two slashes in front', '//.aw/model/x', 400, 'no_proxy_request'],
    ['the prefix in another spelling', '/%2eaw/model/x', 400, 'no_proxy_request'],
    ['another path of the proxy', '/v1/messages', 400, 'no_proxy_request'],
  ])('%s', async (_name, path, status, reason) => {
    const before = await countNow()
    const answer = await ask(path)
    expect([statusOf(answer), reasonOf(answer)]).toEqual([status, reason])
    expect(answer).not.toContain(secret)
    expect(await lastLine(before)).toMatchObject({ verdict: 'refused', reason, address: null, up: 0 })
  })

  test.each([
    ['another host', 'Host: evil.example\r\n'],
    ['another port', 'Host: 127.0.0.1\r\n'],
    ['the upstream', 'Host: AT\r\n'],
    ['two', 'Host: HERE\r\nHost: HERE\r\n'],
    ['none', ''],
  ])('a Host header that is not the proxy: %s', async (_name, header) => {
    const said = header.replaceAll('HERE', `127.0.0.1:${proxy.port}`).replaceAll('AT', at)
    const answer = await proxy.ask(`GET /.aw/model/x HTTP/1.1\r\n${said}\r\n`)
    expect([statusOf(answer), reasonOf(answer)]).toEqual([421, 'not_this_host'])
  })

  test.each([
    ['TRACE', '', 405, 'method_refused'],
    ['GET', 'Upgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n', 501, 'no_upgrade'],
    ['GET', 'Upgrade: h2c\r\nHTTP2-Settings: x\r\n', 501, 'no_upgrade'],
    ['POST', 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n', 400, 'malformed'],
    ['POST', 'Transfer-Encoding: gzip, chunked\r\n', 501, 'unknown_framing'],
    ['POST', 'Expect: more\r\n', 417, 'unknown_expectation'],
  ])('%s with %j', async (method, more, status, reason) => {
    const answer = await ask('/.aw/model/x', more, method)
    expect([statusOf(answer), reasonOf(answer)]).toEqual([status, reason])
  })

  test('CONNECT to a broker', async () => {
    const answer = await proxy.ask(`CONNECT /.aw/model HTTP/1.1\r\nHost: 127.0.0.1:${proxy.port}\r\n\r\n`)
    expect([statusOf(answer), reasonOf(answer)]).toEqual([400, 'no_host'])
  })

  test('its upstream in any other way, and the proxy itself', async () => {
    for (const there of [at, `localhost:${site.port}`, `127.0.0.1:${proxy.port}`]) {
      const plain = await proxy.ask(`GET http://${there}/v1/x HTTP/1.1\r\nHost: ${there}\r\n\r\n`)
      expect([statusOf(plain), reasonOf(plain)]).toEqual([403, 'not_listed'])
      const tunnel = await proxy.ask(`CONNECT ${there} HTTP/1.1\r\nHost: ${there}\r\n\r\n`)
      expect([statusOf(tunnel), reasonOf(tunnel)]).toEqual([403, 'not_listed'])
    }
    const mixed = `GET http://${at}/.aw/model/x HTTP/1.1\r\nHost: 127.0.0.1:${proxy.port}\r\n\r\n`
    expect(statusOf(await proxy.ask(mixed))).toBe(400)
  })

  test('anything, where there are no brokers', async () => {
    await using none = await startProxy([])
    const here = `127.0.0.1:${none.port}`
    expect(reasonOf(await none.ask(`GET /.aw/model/x HTTP/1.1\r\nHost: ${here}\r\n\r\n`))).toBe('no_proxy_request')
    const whole = await none.ask(`GET http://${here}/.aw/model/x HTTP/1.1\r\nHost: ${here}\r\n\r\n`)
    expect(reasonOf(whole)).toBe('not_listed')
  })

  test('a second request in the body of the first', async () => {
    const inner = request('/.aw/root/smuggled')
    const outer = request('/.aw/model/x', `Content-Length: ${inner.length}\r\n`, 'POST')
    const answer = await proxy.ask(outer + inner)
    expect(seen(answer)).toMatchObject({ url: '/v1/x', body: inner })
    expect(answer.match(/HTTP\/1\.1 200/g)).toHaveLength(1)
  })

  test('an upstream that is not there', async () => {
    const before = await countNow()
    const answer = await ask('/.aw/nobody/x')
    expect([statusOf(answer), reasonOf(answer)]).toEqual([502, 'unreachable'])
    expect(await lastLine(before)).toMatchObject({ host: '127.0.0.1', port: 1, verdict: 'failed' })
  })
})

describe('what the box gets back', () => {
  test.each([
    ['the key alone', secret],
    ['the key in a text', `key=${secret}; x`],
    ['encoded', `https://other.example/?k=${secret.replaceAll('-', '%2D')}`],
  ])('no header that says a key back: %s', async (_name, value) => {
    for (const path of ['/.aw/model/x', '/.aw/root/x']) {
      const answer = await saying(path, 200, 'X-Echo', value, 'Location', value, 'X-Other', 'kept', 'X-Short', '17')
      expect(statusOf(answer)).toBe(200)
      expect(headOf(answer)).not.toMatch(/X-Echo|Location|secret/)
      expect(headOf(answer)).toMatch(/X-Other: kept\r\nX-Short: 17/)
    }
  })

  test.each([
    ['http://AT/v1/next?a=b#c', '/.aw/model/next?a=b#c'],
    ['/v1/next', '/.aw/model/next'],
    ['next', '/.aw/model/next'],
    ['/v1', '/.aw/model'],
    ['http://AT/other', 'http://AT/other'],
    ['/v10/next', '/v10/next'],
    ['http://other.example/v1/next', 'http://other.example/v1/next'],
    ['https://AT/v1/next', 'https://AT/v1/next'],
    ['//other.example/v1', '//other.example/v1'],
    ['http://[', 'http://['],
  ])('a redirect to %s leads to %s, and is followed by nobody', async (location, expected) => {
    const answer = await saying('/.aw/model/x', 302, 'Location', location.replaceAll('AT', at))
    expect(statusOf(answer)).toBe(302)
    expect(/^Location: (.*)\r$/m.exec(answer)?.[1]).toBe(expected.replaceAll('AT', at))
  })

  test('each piece at once, and the head before there is any', async () => {
    const answers: ServerResponse[] = []
    await using server = await upstream(createHttp((_request, response) => void answers.push(response)))
    const brokers = [{ name: 'slow', upstream: `http://127.0.0.1:${server.port}`, headers: {} }]
    await using own = await startProxy([], {}, undefined, { brokers })
    const socket = await own.open()
    socket.write(`GET /.aw/slow/x HTTP/1.1\r\nHost: 127.0.0.1:${own.port}\r\n\r\n`)
    await expect.poll(() => answers.length, { timeout: 30_000 }).toBe(1)
    answers[0]?.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders()
    expect(await readUntil(socket, '\r\n\r\n')).toContain('text/event-stream')
    for (const piece of ['data: 1', 'data: 2', 'data: 3']) {
      answers[0]?.write(`${piece}\n\n`)
      await readUntil(socket, `${piece}\n\n`)
    }
    socket.destroy()
    expect((await own.ended(1)).at(-1)).toMatchObject({ verdict: 'allowed', reason: 'client_gone' })
    await expect.poll(() => answers[0]?.destroyed, { timeout: 30_000 }).toBe(true)
  })

  test('a body is passed on while it comes, and an upstream that breaks off breaks the answer off', async () => {
    const server = createServer((socket) => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n')
        socket.once('data', () => socket.resetAndDestroy())
      })
    })
    await using bad = await upstream(server)
    const brokers = [{ name: 'bad', upstream: `http://127.0.0.1:${bad.port}`, headers: {} }]
    await using own = await startProxy([], {}, undefined, { brokers })
    const socket = await own.open()
    socket.write(`POST /.aw/bad/x HTTP/1.1\r\nHost: 127.0.0.1:${own.port}\r\nContent-Length: 10\r\n\r\nhello`)
    await readUntil(socket, 'half\r\n')
    socket.write('h')
    expect(await readAll(socket)).not.toContain('0\r\n\r\n')
    expect((await own.ended(1)).at(-1)).toMatchObject({ verdict: 'failed', reason: 'upstream_closed' })
  })

  test('one that is silent longer than the limit is given up', async () => {
    await using server = await upstream(createServer((socket) => void socket.resume()))
    const brokers = [{ name: 'mute', upstream: `http://127.0.0.1:${server.port}`, headers: {} }]
    await using own = await startProxy([], { idle_ms: 200 }, undefined, { brokers })
    const answer = await own.ask(`GET /.aw/mute/x HTTP/1.1\r\nHost: 127.0.0.1:${own.port}\r\n\r\n`)
    expect(answer).not.toContain('200 OK')
    expect(await own.ended(1)).toHaveLength(1)
  })
})

describe('over TLS', () => {
  let own: OwnAuthority
  beforeAll(() => void (own = ownAuthority()))
  afterAll(() => own[Symbol.dispose]())

  async function asked(names: string, host: string, authorities: readonly string[], serves?: string) {
    const secure = createHttps(own.identity(names), (incoming, response) => void echo(incoming, response))
    const sent: Buffer[] = []
    await using server = await upstream(serves === undefined ? secure : createServer((socket) => socket.end(serves)))
    server.server.on('connection', (socket) => socket.on('data', (chunk: Buffer) => sent.push(chunk)))
    const brokers = [{ name: 'tls', upstream: `https://${host}:${server.port}/v1`, headers: { 'x-api-key': secret } }]
    await using place = await startProxy([], {}, undefined, { brokers, authorities })
    const answer = await place.ask(
      `GET /.aw/tls/x HTTP/1.1\r\nHost: 127.0.0.1:${place.port}\r\nConnection: close\r\n\r\n`,
    )
    expect(Buffer.concat(sent).toString('latin1')).not.toContain(secret)
    expect(place.logText()).not.toContain(secret)
    return { answer, port: server.port, lines: await place.ended(1) }
  }

  test.each([
    ['DNS:localhost', 'localhost'],
    ['IP:127.0.0.1', '127.0.0.1'],
  ])('to whoever proves to be it: %s', async (names, host) => {
    const { answer, port, lines } = await asked(names, host, [own.cert])
    expect(seen(answer)).toMatchObject({
      url: '/v1/x',
      raw: ['Host', `${host}:${port}`, 'Connection', 'close', 'x-api-key', secret],
    })
    expect(lines).toMatchObject([{ host, port, address: '127.0.0.1', verdict: 'allowed', reason: null }])
    expect(lines[0]?.down).toBeGreaterThan(500)
  })

  test.each([
    ['somebody whom nobody vouches for', 'DNS:localhost', 'localhost', false],
    ['another name', 'DNS:other.example', 'localhost', true],
    ['another address', 'IP:127.0.0.2', '127.0.0.1', true],
    ['a name in the place of an address', 'DNS:localhost', '127.0.0.1', true],
  ])('never to %s', async (_name, names, host, vouched) => {
    const { answer, lines } = await asked(names, host, vouched ? [own.cert] : [])
    expect([statusOf(answer), reasonOf(answer)]).toEqual([502, 'not_trusted'])
    expect(lines).toMatchObject([{ host, verdict: 'failed', reason: 'not_trusted' }])
  })

  test('nor to one that speaks no TLS', async () => {
    const { answer } = await asked('DNS:localhost', 'localhost', [own.cert], 'HTTP/1.1 200 OK\r\n\r\n')
    expect([statusOf(answer), reasonOf(answer)]).toEqual([502, 'tls_failed'])
  })

  test('one that never greets is given up', async () => {
    await using server = await upstream(createServer((socket) => void socket.resume()))
    const brokers = [{ name: 'mute', upstream: `https://localhost:${server.port}`, headers: {} }]
    await using place = await startProxy([], { connect_ms: 300 }, undefined, { brokers })
    const answer = await place.ask(`GET /.aw/mute/x HTTP/1.1\r\nHost: 127.0.0.1:${place.port}\r\n\r\n`)
    expect([statusOf(answer), reasonOf(answer)]).toEqual([504, 'connect_timeout'])
  })
})

test('the log has none of it', () => {
  expect(proxy.lines().length).toBeGreaterThan(100)
  expect(proxy.logText()).not.toMatch(/secret|messages|x-api-key/i)
})

test('settings that cannot be read are not said', () => {
  const folder = mkdtempSync(join(tmpdir(), 'aw-proxy-'))
  const file = join(folder, 'settings.json')
  const brokers = [{ name: 'model', upstream: 'https://api.example.com', headers: { 'x-api-key': secret } }]
  const whole = settingsText({ workspace: 'task/agent', allow: [], user: proxyUser, brokers })
  const [program = '', ...args] = proxyCommand()
  try {
    for (const text of [whole.slice(0, whole.indexOf(secret) + 20), whole.replace('api.example.com', `:${secret}@x`)]) {
      writeFileSync(file, text)
      const { status, stderr } = spawnSync(program, [...args, file], { env: {}, encoding: 'utf8', timeout: 60_000 })
      expect(status).toBe(1)
      expect(stderr).toContain('AwError')
      expect(stderr).not.toContain('secret')
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})
