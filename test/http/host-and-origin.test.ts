import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { ask, lines, raw, statusIn } from './ask.ts'

/** What a browser can be made to send, and what two readers would read as two things, gets no further than the door. */

let door: Served
const core = memoryCore().manager

beforeAll(async () => {
  door = await served(core, { over: 'tcp' })
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  await core[Symbol.asyncDispose]()
})

const auth = 'Authorization: Bearer admin'
const bye = 'Connection: close'
const here = (): string => `127.0.0.1:${door.port}`
const upgrade = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13']
const wholeHead = /\r\n\r\n/
const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='

/** Each as a plain request, and as one that would become a WebSocket. */
const ways = [
  { way: 'a request', first: 'GET /api/workspaces HTTP/1.1', rest: [bye], fine: 200 },
  { way: 'an upgrade', first: 'GET /api/events HTTP/1.1', rest: [...upgrade, key], fine: 101 },
] as const

describe.each(ways)('$way', ({ first, rest, fine }) => {
  const send = (...headers: readonly string[]): Promise<string> => raw(door, lines(first, ...headers, ...rest))

  test.each(['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST'])('that is addressed to %s is answered', async (host) => {
    const answer = await raw(door, lines(first, `Host: ${host}:${door.port}`, auth, ...rest), wholeHead)
    expect(statusIn(answer)).toBe(fine)
  })

  test.each([
    'evil.com',
    'localhost.evil.com',
    '127.0.0.1.nip.io',
    'localhost.',
    'localhost@evil.com',
    '127.1',
    '0.0.0.0',
    '2130706433',
  ])('that is addressed to %s is refused, with the port and without it', async (host) => {
    expect(statusIn(await send(`Host: ${host}:${door.port}`, auth))).toBe(421)
    expect(statusIn(await send(`Host: ${host}`, auth))).toBe(421)
  })

  test('that is addressed to nobody, to another port or to two is refused', async () => {
    expect(statusIn(await send(auth))).toBe(400)
    expect(statusIn(await send('Host:', auth))).toBe(421)
    expect(statusIn(await send('Host: 127.0.0.1:1', auth))).toBe(421)
    expect(statusIn(await send(`Host: ${here()}`, `Host: ${here()}`, auth))).toBe(400)
    expect(statusIn(await send(`Host: ${here()}`, 'Host: evil.com', auth))).toBe(400)
  })

  test('that names another server in its target is refused', async () => {
    const path = first.split(' ')[1] ?? ''
    for (const target of [`http://${here()}${path}`, `http://evil.com${path}`, 'evil.com:80', '*']) {
      const answer = await raw(door, lines(`GET ${target} HTTP/1.1`, `Host: ${here()}`, auth, ...rest))
      expect(statusIn(answer), `on ${target}`).toBe(400)
    }
  })

  test.each(['null', 'http://evil.com', 'https://localhost', 'http://localhost', 'file://', 'http://localhost:1'])(
    'that comes from a page of %s is refused',
    async (origin) => {
      expect(statusIn(await send(`Host: ${here()}`, `Origin: ${origin}`, auth))).toBe(403)
    },
  )

  test('that comes from our own page and from another one is refused', async () => {
    const both = [`Origin: http://${here()}`, 'Origin: http://evil.com']
    expect(statusIn(await send(`Host: ${here()}`, ...both, auth))).toBe(403)
    expect(statusIn(await send(`Host: ${here()}`, 'Sec-Fetch-Site: none', 'Sec-Fetch-Site: cross-site', auth))).toBe(
      403,
    )
  })

  test.each(['cross-site', 'same-site'])('that a browser calls %s is refused', async (site) => {
    expect(statusIn(await send(`Host: ${here()}`, `Sec-Fetch-Site: ${site}`, auth))).toBe(403)
  })

  test('without a token, with a wrong one, or with two is refused', async () => {
    const host = `Host: ${here()}`
    for (const given of [
      [],
      ['Authorization: Bearer nobody'],
      ['Authorization: Basic admin'],
      ['Authorization: Bearer'],
      ['Authorization: admin'],
      ['Authorization: Bearer admin admin'],
      ['Cookie: token=admin'],
      [auth, 'Authorization: Bearer nobody'],
      [auth, auth],
    ])
      expect(statusIn(await send(host, ...given)), `on ${given.join()}`).toBe(401)
  })

  test('is told nothing but what is wrong', async () => {
    const answer = await send('Host: evil.com', auth)
    expect(answer).toContain('application/problem+json')
    expect(answer).not.toMatch(/access-control|set-cookie|server:|x-powered/i)
  })
})

test('a form of another page cannot send anything: only JSON is a body', async () => {
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/json',
  ]) {
    const bytes = '{"id":"by-a-form"}'
    const answer = await ask(door, 'POST', '/api/workspaces', { bytes, headers: { 'content-type': type } })
    expect(answer.status, `on ${type}`).toBe(415)
  }
  const bare = await ask(door, 'POST', '/api/workspaces', { bytes: '{"id":"by-a-form"}' })
  expect(bare.status).toBe(415)
  expect(await core.call('list', {})).toEqual([])
})

test('a preflight gets no leave, with a token or without one', async () => {
  const headers = { 'access-control-request-method': 'POST', origin: 'http://evil.com' }
  for (const path of ['/api/workspaces', '/api/health', '/metrics', '/api/openapi.json']) {
    for (const given of [{ headers }, { headers, token: '' }, { headers: {} }, { token: '' }]) {
      const answer = await ask(door, 'OPTIONS', path, given)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  }
})

test('whether it is well can be asked without the answer, of everything else nothing can', async () => {
  for (const path of ['/api/health', '/api/ready'])
    expect(await ask(door, 'HEAD', path, { token: '' })).toMatchObject({ status: 200, text: '' })
  for (const path of ['/metrics', '/api/workspaces', '/api/events'])
    expect((await ask(door, 'HEAD', path)).status).toBeGreaterThanOrEqual(404)
})

test('no answer has headers for other pages, or a cookie, and none may be kept', async () => {
  for (const path of ['/api/health', '/api/openapi.json', '/metrics', '/api/workspaces', '/api/none', '/api/events']) {
    const { headers } = await ask(door, 'GET', path, { headers: { cookie: 'a=b' } })
    expect(Object.keys(headers).filter((name) => /^access-control|cookie|^server$|powered/.test(name))).toEqual([])
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['x-content-type-options']).toBe('nosniff')
  }
})

test('an address is what it says: nothing in it is mended', async () => {
  await core.call('create', { id: 'there' })
  expect((await ask(door, 'GET', '/api/workspaces/there')).status).toBe(200)
  for (const path of [
    '/api/workspaces/%2e%2e/workspaces/there',
    '/api/workspaces/../workspaces/there',
    '/api/x/%2E%2E/workspaces/there',
    '/api/./workspaces/there',
    '/api/%2e/workspaces/there',
    '//api/workspaces/there',
    '/api//workspaces/there',
    '/api/workspaces//there',
    '/api/workspaces/there/',
    '/api/workspaces/there%00',
    '/api/workspaces/%00there',
    '/api/workspaces/there%',
    '/api\\workspaces\\there',
    '/api/workspaces/there#x',
    '//evil.com/api/workspaces/there',
    '//',
    '///',
    '/%',
    '/API/workspaces/there',
    '/api/Workspaces/there',
    '/x/session/workspace',
    '/api',
    '/',
  ]) {
    const sent = lines(`GET ${path} HTTP/1.1`, `Host: ${here()}`, auth, bye)
    expect(statusIn(await raw(door, sent)), `on ${path}`).toBe(404)
  }
  // There is something at the address; what it is asked about is no text.
  for (const path of ['/api/workspaces/there%ff', '/api/workspaces/there%c0%ae'])
    expect((await ask(door, 'GET', path)).status, `on ${path}`).toBe(400)
  for (const path of ['/api/requests/%', '/api/requests/', '/api/requests/%2f', '//x/api/requests/y'])
    expect((await ask(door, 'DELETE', path)).status, `on ${path}`).toBe(404)
})

test('a request that two servers would read in two ways is refused', async () => {
  const head = ['POST /api/workspaces HTTP/1.1', `Host: ${here()}`, auth, 'Content-Type: application/json', bye]
  const body = '{"id":"smuggled"}'
  const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const both = lines(...head, `Content-Length: ${body.length}`, 'Transfer-Encoding: chunked') + chunk
  const twice = lines(...head, `Content-Length: ${body.length}`, 'Content-Length: 0') + body
  const odd = lines(...head, 'Transfer-Encoding: xchunked') + chunk
  const folded = lines(...head, 'Transfer-Encoding:', ' chunked') + chunk
  const signed = lines(...head, `Content-Length: +${body.length}`) + body
  const bare = `${head.join('\n')}\nContent-Length: ${body.length}\n\n${body}`
  for (const sent of [both, twice, odd, folded, signed, bare]) expect(statusIn(await raw(door, sent))).toBe(400)
  expect(await core.call('exists', { id: 'smuggled' })).toEqual({ exists: false })
})

test('what is left of a body that nobody has read is not the next request', async () => {
  const inner = lines('DELETE /api/workspaces/there HTTP/1.1', `Host: ${here()}`, auth)
  const head = ['POST /api/none HTTP/1.1', `Host: ${here()}`, auth, `Content-Length: ${inner.length}`]
  const text = await raw(door, lines(...head) + inner)
  expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
  expect(statusIn(text)).toBe(404)
})

test('a head of ten megabytes is refused long before it has come', async () => {
  const huge = `GET /api/health HTTP/1.1\r\nHost: ${here()}\r\nX-A: ${'a'.repeat(10 * 2 ** 20)}\r\n\r\n`
  expect(statusIn(await raw(door, huge))).toBe(431)
  const many = `GET /api/health HTTP/1.1\r\nHost: ${here()}\r\n${'X-A: a\r\n'.repeat(200_000)}\r\n`
  expect(statusIn(await raw(door, many))).toBe(431)
  const target = `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: ${here()}\r\n\r\n`
  expect(statusIn(await raw(door, target))).toBe(431)
})

test('bytes that are no request are answered with 400, and the door goes on', async () => {
  for (const bytes of [
    '\0\0\0\0\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\x16\x03\x01\x02\0\x01\0\r\n\r\n',
    'GET\r\n\r\n',
  ])
    expect(statusIn(await raw(door, bytes))).toBe(400)
  expect((await ask(door, 'GET', '/api/health', { token: '' })).status).toBe(200)
})
