/** The real program: what passes, what does not, and what is written down about it. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as tlsConnect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inRoot } from '../../../tools/root.ts'
import { type Place, readAll, readUntil, reasonOf, seen, startProxy, statusOf, upstream } from './fixture.ts'

/** Says what it was asked. */
const echo = () => createHttp((request, response) => void echoTo(request, response))

async function echoTo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request).catch(() => undefined)
  const text = JSON.stringify({ method: request.method, url: request.url, raw: request.rawHeaders, body })
  const length = ['Content-Length', String(text.length)]
  response.writeHead(200, ['X-Seen', 'yes', 'Connection', 'X-Hop', 'X-Hop', 'gone', ...length]).end(text)
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request as AsyncIterable<Buffer>) body += chunk.toString('latin1')
  return body
}

let proxy: Place
let site: Awaited<ReturnType<typeof upstream>>
let at: string

beforeAll(async () => {
  site = await upstream(echo())
  at = `127.0.0.1:${site.port}`
  proxy = await startProxy([at, 'allowed.example', '*.below.example', '127.0.0.1:1'])
})

afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

const lastLine = async (before: number): Promise<unknown> => (await proxy.ended(before + 1)).at(-1)
const countNow = async (): Promise<number> => (await proxy.ended(0)).length

describe('a plain request', () => {
  test('reaches what a rule names, without what was only for the proxy', async () => {
    const before = await countNow()
    const answer = await proxy.ask(
      `GET http://${at}/a?b=c HTTP/1.1\r\nHost: ${at}\r\nProxy-Authorization: Basic eDp5\r\nProxy-Connection: keep-alive\r\nX-One: 1\r\nX-Hop: 2\r\nTE: trailers\r\nUpgrade: websocket\r\nConnection: close, X-Hop\r\n\r\n`,
    )
    expect(statusOf(answer)).toBe(200)
    expect(answer).toContain('X-Seen: yes')
    expect(answer).not.toContain('X-Hop')
    expect(seen(answer)).toMatchObject({
      method: 'GET',
      url: '/a?b=c',
      raw: ['Host', at, 'X-One', '1', 'Connection', 'close'],
    })
    expect(await lastLine(before)).toMatchObject({
      method: 'GET',
      host: '127.0.0.1',
      port: site.port,
      address: '127.0.0.1',
      verdict: 'allowed',
      reason: null,
    })
  })

  test.each([
    ['with its length', 'Content-Length: 5\r\n\r\nhello', ['Content-Length', '5']],
    [
      'in chunks',
      'Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nTrailer: 1\r\n\r\n',
      ['Transfer-Encoding', 'chunked'],
    ],
  ])('a body %s arrives as it was framed', async (_name, rest, framing) => {
    const answer = await proxy.ask(`POST http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nConnection: close\r\n${rest}`)
    expect(seen(answer)).toMatchObject({ body: 'hello', raw: ['Host', at, 'Connection', 'close', ...framing] })
  })

  test('a POST without a body has none behind the proxy either', async () => {
    const answer = await proxy.ask(`POST http://${at} HTTP/1.1\r\nHost: ${at}\r\nConnection: close\r\n\r\n`)
    expect(seen(answer)).toMatchObject({
      url: '/',
      body: '',
      raw: ['Host', at, 'Connection', 'close', 'Content-Length', '0'],
    })
  })

  test('Expect: 100-continue is met by the proxy, once the host is reached', async () => {
    const socket = await proxy.open()
    socket.write(
      `PUT http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nContent-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n`,
    )
    await readUntil(socket, '100 Continue\r\n\r\n')
    socket.write('ok')
    expect(seen(await readAll(socket))).toMatchObject({ body: 'ok' })
    const refused = await proxy.ask(
      `PUT http://other.example/ HTTP/1.1\r\nHost: other.example\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
    )
    expect(statusOf(refused)).toBe(403)
  })

  test('several over one connection, also sent at once, are answered in order', async () => {
    const one = (path: string, last = ''): string => `GET http://${at}/${path} HTTP/1.1\r\nHost: ${at}\r\n${last}\r\n`
    const answer = await proxy.ask(one('1') + one('2') + one('3', 'Connection: close\r\n'))
    expect([...answer.matchAll(/"url":"(\/\d)"/g)].map(([, url]) => url)).toEqual(['/1', '/2', '/3'])
  })

  test('HEAD, and a client of HTTP/1.0', async () => {
    const head = await proxy.ask(`HEAD http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nConnection: close\r\n\r\n`)
    expect([statusOf(head), head.endsWith('\r\n\r\n')]).toEqual([200, true])
    const old = await proxy.ask(`GET http://${at}/old HTTP/1.0\r\n\r\n`)
    expect(seen(old)).toMatchObject({ url: '/old' })
  })
})

describe('what is not listed', () => {
  test.each([
    ['other.example', 'http://other.example/', 'other.example', 'not_listed', '--allow other.example\n'],
    [
      'another port',
      'http://allowed.example:8080/',
      'allowed.example:8080',
      'port_not_listed',
      '--allow allowed.example:8080\n',
    ],
    ['the host of a wildcard', 'http://below.example/', 'below.example', 'not_listed', '--allow below.example\n'],
    [
      'what only ends alike',
      'http://notallowed.example/',
      'notallowed.example',
      'not_listed',
      '--allow notallowed.example\n',
    ],
    [
      'what only begins alike',
      'http://allowed.example.evil/',
      'allowed.example.evil',
      'not_listed',
      '--allow allowed.example.evil\n',
    ],
    [
      'the metadata address',
      'http://169.254.169.254/latest',
      '169.254.169.254',
      'not_listed',
      '--allow 169.254.169.254:80\n',
    ],
    [
      'its other spelling',
      'http://[::ffff:169.254.169.254]/',
      '[::ffff:169.254.169.254]',
      'not_listed',
      '--allow 169.254.169.254:80\n',
    ],
    ['loopback', 'http://127.0.0.1/', '127.0.0.1', 'port_not_listed', '--allow 127.0.0.1:80\n'],
    ['localhost', 'http://localhost/', 'localhost', 'not_listed', '--allow localhost:80\n'],
  ])('%s', async (_name, url, host, reason, hint) => {
    const before = await countNow()
    const plain = await proxy.ask(`GET ${url} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    expect([statusOf(plain), reasonOf(plain)]).toEqual([403, reason])
    expect(plain).toContain(hint)
    expect(await lastLine(before)).toMatchObject({ verdict: 'refused', reason, address: null, up: 0, down: 0 })
    const authority = /:\d+$/.test(host) ? host : `${host}:80`
    const tunnel = await proxy.ask(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`)
    expect([statusOf(tunnel), reasonOf(tunnel)]).toEqual([403, reason])
    expect(await lastLine(before + 1)).toMatchObject({ method: 'CONNECT', verdict: 'refused', reason })
  })
})

describe('what is no request', () => {
  test.each([
    ['evil\\0.ok.com', 'CONNECT evil\0.allowed.example:443 HTTP/1.1\r\nHost: allowed.example:443\r\n\r\n'],
    ['a user in front', 'CONNECT allowed.example@evil.example:443 HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    ['0x7f.1', 'CONNECT 0x7f.1:443 HTTP/1.1\r\nHost: 0x7f.1:443\r\n\r\n'],
    ['2130706433', 'GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n'],
    ['0177.1', 'GET http://0177.1/ HTTP/1.1\r\nHost: 0177.1\r\n\r\n'],
    ['percent', 'GET http://allowed%2eexample/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    ['a zone', 'GET http://[fe80::1%25lo]/ HTTP/1.1\r\nHost: [fe80::1%25lo]\r\n\r\n'],
    ['IDN', 'GET http://b\u00fccher.example/ HTTP/1.1\r\nHost: b\u00fccher.example\r\n\r\n'],
    ['a fragment', 'GET http://allowed.example#@evil.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    ['a backslash', 'GET http://allowed.example\\@evil.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    ['no port', 'CONNECT allowed.example HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    ['port 0', 'CONNECT allowed.example:0 HTTP/1.1\r\nHost: allowed.example:0\r\n\r\n'],
    ['CONNECT against Host', 'CONNECT allowed.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n'],
    ['another port in Host', 'CONNECT allowed.example:443 HTTP/1.1\r\nHost: allowed.example:80\r\n\r\n'],
    ['target against Host', 'GET http://allowed.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n'],
    ['two Hosts', 'GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\nHost: allowed.example\r\n\r\n'],
    ['no Host', 'GET http://allowed.example/ HTTP/1.1\r\n\r\n'],
    ['an empty Host', 'GET http://allowed.example/ HTTP/1.1\r\nHost:\r\n\r\n'],
    ['not to a proxy', 'GET / HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    ['about everything', 'OPTIONS * HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    ['https', 'GET https://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    ['another scheme', 'GET ftp://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n'],
    [
      'chunked and a length',
      'POST http://AT/ HTTP/1.1\r\nHost: AT\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST http://AT/ HTTP/1.1\r\nHost: AT\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd'],
    ['a length that is none', 'POST http://AT/ HTTP/1.1\r\nHost: AT\r\nContent-Length: +4\r\n\r\nabcd'],
    [
      'chunked twice',
      'POST http://AT/ HTTP/1.1\r\nHost: AT\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['chunked in disguise', 'POST http://AT/ HTTP/1.1\r\nHost: AT\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    [
      'a space before the colon',
      'POST http://AT/ HTTP/1.1\r\nHost: AT\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    ],
    ['bare line feeds', 'GET http://AT/ HTTP/1.1\nHost: AT\n\n'],
    ['a folded header', 'GET http://AT/ HTTP/1.1\r\nHost: AT\r\nX: a\r\n b\r\n\r\n'],
    ['another version', 'GET http://AT/ HTTP/2.0\r\nHost: AT\r\n\r\n'],
    ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc'],
  ])('%s', async (_name, text) => {
    const before = await countNow()
    const answer = await proxy.ask(Buffer.from(text.replaceAll('AT', at), 'latin1'))
    expect([400, 501]).toContain(statusOf(answer))
    expect(await lastLine(before)).toMatchObject({ verdict: 'refused', address: null })
    expect(answer).not.toContain('evil')
  })

  test('a chunk that is none ends the request, and the host gets no whole body', async () => {
    const before = await countNow()
    const answer = await proxy.ask(
      `POST http://${at}/ HTTP/1.1\r\nHost: ${at}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\nzz\r\n\r\n`,
    )
    expect(answer).not.toContain('200 OK')
    expect(await lastLine(before)).toMatchObject({ verdict: 'allowed', reason: 'client_gone' })
  })
})

describe('a host that fails', () => {
  test('nobody listens', async () => {
    const before = await countNow()
    expect(statusOf(await proxy.ask('GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n'))).toBe(502)
    expect(await lastLine(before)).toMatchObject({ verdict: 'failed', reason: 'unreachable' })
  })

  test.each([
    ['closes at once', '', 'upstream_closed', 502],
    ['speaks otherwise', 'SSH-2.0-x\r\n', 'bad_answer', 502],
    ['has two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 'bad_answer', 502],
    [
      'has a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'bad_answer',
      502,
    ],
    ['ends too early', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf', 'upstream_closed', 200],
    [
      'has a broken chunk',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n',
      'bad_answer',
      200,
    ],
  ])('%s', async (_name, text, reason, status) => {
    await using bad = await upstream(createServer((socket) => socket.once('data', () => socket.end(text))))
    await using own = await startProxy([`127.0.0.1:${bad.port}`])
    const answer = await own.ask(`GET http://127.0.0.1:${bad.port}/ HTTP/1.1\r\nHost: 127.0.0.1:${bad.port}\r\n\r\n`)
    expect(statusOf(answer)).toBe(status)
    // What came of it, and no end as if it were whole.
    if (status === 200) expect(answer).toMatch(/half(\r\n)?$/)
    expect((await own.ended(1)).at(-1)).toMatchObject({ verdict: 'failed', reason })
  })
})

describe('a tunnel', () => {
  const folder = mkdtempSync(join(tmpdir(), 'aw-proxy-tls-'))
  beforeAll(() => {
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    execFileSync(
      'openssl',
      [...args, '-subj', '/CN=localhost', '-keyout', join(folder, 'key'), '-out', join(folder, 'cert')],
      { stdio: 'pipe' },
    )
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('carries TLS from end to end', async () => {
    const [key, cert] = ['key', 'cert'].map((name) => readFileSync(join(folder, name), 'utf8'))
    const secure = createHttps({ key, cert }, (_request, response) => response.end('secret'))
    await using server = await upstream(secure)
    await using own = await startProxy([`localhost:${server.port}`])
    const socket = await own.open()
    socket.write(`CONNECT localhost:${server.port} HTTP/1.1\r\nHost: localhost:${server.port}\r\n\r\n`)
    expect(statusOf(await readUntil(socket, '\r\n\r\n'))).toBe(200)
    const tls = tlsConnect({ socket, ca: cert, servername: 'localhost' })
    await once(tls, 'secureConnect')
    tls.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    const answer = await readAll(tls)
    expect(answer).toContain('secret')
    const [open] = own.lines()
    expect(open).toMatchObject({ method: 'CONNECT', verdict: 'allowed', reason: 'open', address: '127.0.0.1' })
    const [line] = await own.ended(1)
    expect(line).toMatchObject({ id: open?.id, time: open?.time, host: 'localhost', verdict: 'allowed' })
    expect(line?.up).toBeGreaterThan(200)
    expect(line?.down).toBeGreaterThan(200)
    expect(own.logText()).not.toContain('secret')
  })

  test('each direction ends on its own, and what was sent early is not lost', async () => {
    const after = createServer({ allowHalfOpen: true }, (socket) => {
      let said = ''
      socket.on('data', (chunk: Buffer) => (said += chunk.toString()))
      socket.on('end', () => socket.end(`you said ${said}`))
    })
    await using server = await upstream(after)
    await using own = await startProxy([`127.0.0.1:${server.port}`])
    const socket = await own.open()
    socket.write(`CONNECT 127.0.0.1:${server.port} HTTP/1.0\r\n\r\nearly `)
    await readUntil(socket, '\r\n\r\n')
    socket.end('and late')
    expect(await readAll(socket)).toBe('you said early and late')
    expect(await own.ended(1)).toMatchObject([{ verdict: 'allowed', reason: null, up: 14, down: 23 }])
  })

  test('a reset of the host is a reset for the client', async () => {
    const resetting = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()))
    await using server = await upstream(resetting)
    await using own = await startProxy([`127.0.0.1:${server.port}`])
    const socket = await own.open()
    socket.write(`CONNECT 127.0.0.1:${server.port} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`)
    await readUntil(socket, '\r\n\r\n')
    const failed = new Promise<boolean>((resolve) => socket.once('close', resolve))
    socket.write('x')
    socket.resume()
    expect(await failed).toBe(true)
    expect(await own.ended(1)).toMatchObject([{ verdict: 'failed', reason: 'upstream_closed' }])
  })

  test('a reset of the client is one for the host', async () => {
    const ended: unknown[] = []
    const server = createServer((socket) =>
      socket.on('error', (error) => ended.push((error as NodeJS.ErrnoException).code)),
    )
    await using reset = await upstream(server)
    await using own = await startProxy([`127.0.0.1:${reset.port}`])
    const socket = await own.open()
    socket.write(`CONNECT 127.0.0.1:${reset.port} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
    await readUntil(socket, '\r\n\r\n')
    socket.resetAndDestroy()
    expect(await own.ended(1)).toMatchObject([{ verdict: 'allowed', reason: 'client_gone' }])
    await expect.poll(() => ended, { timeout: 30_000 }).toEqual(['ECONNRESET'])
  })
})

test('an empty list refuses everything', async () => {
  await using own = await startProxy([])
  for (const host of ['127.0.0.1', 'localhost', 'example.com', '1.1.1.1']) {
    expect(reasonOf(await own.ask(`CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\n\r\n`))).toBe('not_listed')
  }
})

test('a redirect is followed by nobody but the client, and is judged like any request', async () => {
  const redirecting = createHttp((_request, response) =>
    response.writeHead(302, { Location: 'http://169.254.169.254/' }).end(),
  )
  await using server = await upstream(redirecting)
  await using own = await startProxy([`127.0.0.1:${server.port}`])
  const there = `127.0.0.1:${server.port}`
  const answer = await own.ask(`GET http://${there}/ HTTP/1.1\r\nHost: ${there}\r\nConnection: close\r\n\r\n`)
  expect(statusOf(answer)).toBe(302)
  const next = await own.ask('GET http://169.254.169.254/ HTTP/1.1\r\nHost: 169.254.169.254\r\n\r\n')
  expect(statusOf(next)).toBe(403)
})

test('the bundle of the package does the same, with nothing but the modules of Node', async () => {
  const bundle = inRoot('dist/proxy.cjs')
  await using own = await startProxy([at], {}, [process.execPath, bundle])
  const answer = await own.ask(`GET http://${at}/bundle HTTP/1.1\r\nHost: ${at}\r\nConnection: close\r\n\r\n`)
  expect(seen(answer)).toMatchObject({ url: '/bundle' })
  const required = [...readFileSync(bundle, 'utf8').matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name)
  expect(required.length).toBeGreaterThan(0)
  expect(required.filter((name) => name?.startsWith('node:') !== true)).toEqual([])
})
