import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Inputs } from '../../src/api/table.ts'
import type { CallContext, Manager } from '../../src/ports/manager.ts'
import type { CommandInput } from '../../src/ports/sandbox-driver.ts'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { ask, dial, lines, raw, statusIn, until, type Answer } from './ask.ts'

/** What comes in a request: how much of it, and in which form; and requests that never come in whole. */

const kib = 1024
const core = memoryCore().manager
let door: Served

beforeAll(async () => {
  await core.call('create', { id: 'one' })
  const limits = { bodyBytes: 100 * kib, uploadBytes: 128 * kib }
  door = await served(core, { over: 'tcp', limits, server: { requestMs: 1_000 } })
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  await core[Symbol.asyncDispose]()
})

const json = { 'content-type': 'application/json' }
const raws = { 'content-type': 'application/octet-stream' }
const post = (bytes: string | Uint8Array, headers: Record<string, string> = json): Promise<Answer> =>
  ask(door, 'POST', '/api/workspaces', { bytes, headers })

test('a head that is larger than allowed is refused', async () => {
  await using narrow = await served(core, { over: 'tcp', server: { headerBytes: 2 * kib } })
  const status = async (at: Served, bytes: number): Promise<number> =>
    (await ask(at, 'GET', '/api/workspaces', { headers: { 'x-filler': 'x'.repeat(bytes) } })).status
  expect([await status(narrow, kib), await status(narrow, 3 * kib), await status(door, 3 * kib)]).toEqual([
    200, 431, 200,
  ])
})

describe('JSON', () => {
  test.each([
    ['a key twice', '{"id":"a","id":"b"}'],
    ['a key twice, once in other letters', '{"id":"a","\\u0069d":"b"}'],
    ['a key twice further in', '{"id":"a","labels":{"k":"1","k":"2"}}'],
    ['__proto__', '{"id":"a","__proto__":{"from":"/etc"}}'],
    ['__proto__ in other letters', '{"id":"a","labels":{"\\u005f_proto__":"x"}}'],
    ['constructor', '{"id":"a","constructor":{}}'],
    ['a field that nobody knows', '{"id":"a","toString":"x"}'],
    ['too deep', `{"id":"a","config":${'{"a":'.repeat(40)}1${'}'.repeat(40)}}`],
    ['far too deep', '['.repeat(60_000)],
    [
      'too many keys',
      `{"id":"a","labels":{${Array.from({ length: 10_001 }, (_, i) => `"${i.toString(36)}":""`).join(',')}}}`,
    ],
    ['not closed', '{"id":"a'],
    ['not closed after a backslash', '{"id":"a\\"'],
    ['not JSON', '{id:1}'],
    ['an odd key', '{"\\x":1}'],
    ['a list', '["a"]'],
    ['null', 'null'],
    ['text', '"a"'],
    ['half of a character', '{"id":"\\ud800"}'],
  ])('with %s is refused', async (_, text) => {
    const answer = await post(text)
    expect({ status: answer.status, code: answer.json['code'] }).toEqual({ status: 400, code: 'invalid_input' })
  })

  test('that is not UTF-8, or packed, is refused', async () => {
    expect((await post(Buffer.from([0x7b, 0xff, 0x7d]))).status).toBe(400)
    for (const encoding of ['gzip', 'deflate', 'br', 'x'])
      expect((await post(gzipSync('{"id":"a"}'), { ...json, 'content-encoding': encoding })).status).toBe(415)
  })

  test('is as deep and has as many keys and values as the settings say, over a WebSocket too', async () => {
    await using narrow = await served(core, { over: 'tcp', limits: { json: { depth: 2, keys: 3, values: 3 } } })
    const texts = { fits: '{"id":"a","labels":{"b":"c"}}', deep: '{"config":{"a":{}}}' }
    const many = { keys: '{"id":"a","labels":{"b":"c","d":"e"}}', values: '{"remove":[1,2,3,4,5]}' }
    const post = (bytes: string): Promise<Answer> => ask(narrow, 'POST', '/api/workspaces', { bytes, headers: json })
    expect((await post(texts.fits)).status).toBe(201)
    expect((await post(texts.deep)).json['detail']).toContain('deeper than 2')
    expect((await post(many.keys)).json['detail']).toContain('more than 3 keys')
    expect((await post(many.values)).json['detail']).toContain('more than 3 values')
    const socket = new WebSocket(`ws://127.0.0.1:${narrow.port}/api/workspaces/a/exec`, {
      headers: { authorization: 'Bearer admin' },
    })
    await once(socket, 'open')
    socket.send('{"argv":["true"],"env":{"A":{}}}')
    const [said] = (await once(socket, 'message')) as [Buffer]
    expect(said.toString()).toContain('deeper than 2')
    socket.close()
  })

  test('that is small and would be large when it is parsed is refused before that', async () => {
    await using wide = await served(core, { over: 'tcp', limits: { uploadBytes: 64 * 2 ** 20 } })
    const bytes = `{"path":"a","content":[${'[],'.repeat(5_000_000)}[]]}`
    const before = process.memoryUsage().heapUsed
    const answer = await ask(wide, 'PUT', '/api/workspaces/one/files/content', { bytes, headers: json })
    expect(answer.status).toBe(400)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200 * 2 ** 20)
  })

  test('as large as is allowed is taken, and nothing that is larger, whatever its length says', async () => {
    const sized = (size: number): string => {
      const start = '{"id":"one","text":"'
      return `${start}${'a'.repeat(size - start.length - 2)}"}`
    }
    const path = '/api/workspaces/one/prompt'
    const body = sized(100 * kib)
      .replace('"id":"one",', '')
      .padEnd(100 * kib)
    expect((await ask(door, 'POST', path, { bytes: body, headers: json })).status).toBe(200)
    const over = `${body} `
    expect((await ask(door, 'POST', path, { bytes: over, headers: json })).status).toBe(413)
    const chunked = { ...json, 'transfer-encoding': 'chunked' }
    expect((await ask(door, 'POST', path, { bytes: over, headers: chunked })).status).toBe(413)
  })
})

test('a query has no fields that are not there, none twice, and none that stands elsewhere', async () => {
  for (const query of [
    '__proto__=x',
    'constructor=x',
    'toString=x',
    'limit=1&limit=2',
    'limit=1e3',
    'limit=',
    'all=yes',
  ])
    expect((await ask(door, 'GET', `/api/workspaces?${query}`)).status, `on ${query}`).toBe(400)
  expect((await ask(door, 'GET', '/api/workspaces/one?id=two')).status).toBe(400)
  const twice = await ask(door, 'POST', '/api/workspaces?id=two', { json: { id: 'three' } })
  expect(twice.status).toBe(400)
  for (const cursor of ['-1', 'x', '1.5', '', '99999999999', '1&cursor=2'])
    expect((await ask(door, 'GET', `/api/bases?cursor=${cursor}`)).status, `on ${cursor}`).toBe(400)
  expect((await ask(door, 'GET', '/api/bases?cursor=5')).json).toEqual([])
})

test('content is taken up to its limit, in every form', async () => {
  const most = 128 * kib
  const [fits, over] = [Buffer.alloc(most, 'a'), Buffer.alloc(most + 1, 'a')]
  const content = '/api/workspaces/one/files/content?path=work/content'
  const upload = '/api/workspaces/one/files/upload?path=work/uploaded&existing=replace'
  for (const path of [content, upload]) {
    expect((await ask(door, 'PUT', path, { bytes: fits, headers: raws })).status).toBe(200)
    expect((await ask(door, 'PUT', path, { bytes: over, headers: raws })).status).toBe(413)
    const chunked = { ...raws, 'transfer-encoding': 'chunked' }
    expect((await ask(door, 'PUT', path, { bytes: over, headers: chunked })).status).toBe(413)
  }
  const inJson = (bytes: Buffer): object => ({ path: 'work/content', content: bytes.toString('base64') })
  const plain = '/api/workspaces/one/files/content'
  expect((await ask(door, 'PUT', plain, { json: inJson(fits) })).status).toBe(200)
  expect((await ask(door, 'PUT', plain, { json: inJson(Buffer.alloc(2 * most)) })).status).toBe(413)
  expect((await ask(door, 'PUT', plain, { json: { path: 'x', content: '*** no base64 ***' } })).status).toBe(400)
  expect((await core.call('fs stat', { id: 'one', path: 'work/uploaded' })).size).toBe(most)
})

test('the user at the socket has files of any size, and no warning is given on the way', async () => {
  await using near = await served(core, { over: 'socket', limits: { uploadBytes: kib } })
  const warnings: Error[] = []
  const note = (warning: Error): void => void warnings.push(warning)
  process.on('warning', note)
  const piece = Buffer.alloc(64 * kib, 'a')
  async function* input(): AsyncGenerator<{ kind: 'data'; data: Buffer }> {
    for (let i = 0; i < 64; i++) yield { kind: 'data', data: piece }
  }
  const sent = await near.manager.call('fs upload', { id: 'one', path: 'work/large' }, { input: input() })
  expect(sent.size).toBe(64 * piece.length)
  await near.manager.call('fs write', { id: 'one', path: 'work/large', content: piece })
  await new Promise((resolve) => setTimeout(resolve, 20))
  process.off('warning', note)
  expect(warnings).toEqual([])
})

test('an upload may take longer than a request as long as it goes on; what stands still is refused', async () => {
  const begin = (path: string, type: string): Socket => {
    const socket = dial(door)
    const head = [`PUT ${path} HTTP/1.1`, `Host: 127.0.0.1:${door.port}`, 'Authorization: Bearer admin']
    socket.write(lines(...head, `Content-Type: ${type}`, 'Transfer-Encoding: chunked', 'Connection: close'))
    return socket
  }
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
  const said = async (socket: Socket): Promise<string> => Buffer.concat(await socket.toArray()).toString()
  const upload = '/api/workspaces/one/files/upload?path=work/slow'
  const slow = begin(upload, raws['content-type'])
  const answer = said(slow)
  for (let i = 0; i < 12; i++) {
    slow.write('1\r\na\r\n')
    await pause(100)
  }
  slow.write('0\r\n\r\n')
  expect(statusIn(await answer)).toBe(200)
  expect((await core.call('fs stat', { id: 'one', path: 'work/slow' })).size).toBe(12)
  const still = [begin(upload, raws['content-type']), begin('/api/workspaces/one/env', json['content-type'])]
  for (const socket of still) socket.write('1\r\n{\r\n')
  for (const socket of still) expect(statusIn(await said(socket))).toBe(408)
  expect((await core.call('fs stat', { id: 'one', path: 'work/slow' })).size).toBe(12)
})

test('how long we take ourselves is no fault of who uploads', async () => {
  const requestMs = 500
  // As when another works on the workspace, and then the disk is slow.
  async function* slowly(input: AsyncIterable<CommandInput> | undefined): AsyncGenerator<CommandInput> {
    await sleep(1.5 * requestMs)
    let taken = 0
    for await (const piece of input ?? []) {
      if (taken++ < 2) await sleep(1.5 * requestMs)
      yield piece
    }
  }
  const call = (name: 'fs upload', given: Inputs['fs upload'], context?: CallContext) =>
    core.call(name, given, { ...context, input: slowly(context?.input) })
  await using slow = await served({ ...core, call } as Manager, { over: 'tcp', server: { requestMs } })
  const path = '/api/workspaces/one/files/upload?path=work/taken-slowly'
  // More than is read ahead.
  const piece = Buffer.alloc(4096 * kib, 'a')
  expect((await ask(slow, 'PUT', path, { bytes: piece, headers: raws })).status).toBe(200)
  expect((await core.call('fs stat', { id: 'one', path: 'work/taken-slowly' })).size).toBe(piece.length)
})

test('content that is packed for the way is not kept as it came', async () => {
  for (const framing of ['gzip, chunked', 'deflate, chunked', 'x, chunked']) {
    const head = [
      'PUT /api/workspaces/one/files/upload?path=work/packed HTTP/1.1',
      `Host: 127.0.0.1:${door.port}`,
      'Authorization: Bearer admin',
      'Content-Type: application/octet-stream',
      `Transfer-Encoding: ${framing}`,
      'Connection: close',
    ]
    expect(statusIn(await raw(door, `${lines(...head)}3\r\nabc\r\n0\r\n\r\n`))).toBe(415)
  }
  await expect(core.call('fs stat', { id: 'one', path: 'work/packed' })).rejects.toMatchObject({
    code: 'file_not_found',
  })
})

const descriptors = (): number => readdirSync('/proc/self/fd').length

test('an upload that breaks off leaves nothing behind', async () => {
  const files = await core.call('fs list', { id: 'one', path: 'work' })
  const before = descriptors()
  const head = [
    'PUT /api/workspaces/one/files/upload?path=work/broken HTTP/1.1',
    `Host: 127.0.0.1:${door.port}`,
    'Authorization: Bearer admin',
    'Content-Type: application/octet-stream',
  ]
  const sockets = Array.from({ length: 20 }, (_, i) => {
    const socket = dial(door)
    socket.write(lines(...head, i % 2 === 0 ? 'Content-Length: 1000' : 'Transfer-Encoding: chunked') + '5\r\nhello')
    socket.resume()
    return socket
  })
  await new Promise((resolve) => setTimeout(resolve, 100))
  for (const [i, socket] of sockets.entries()) {
    if (i % 3 === 0) socket.end()
    else socket.resetAndDestroy()
  }
  await until(() => descriptors() <= before)
  await expect(core.call('fs stat', { id: 'one', path: 'work/broken' })).rejects.toThrow('file not found')
  expect(await core.call('fs list', { id: 'one', path: 'work' })).toEqual(files)
  expect(door.logged.filter((record) => 'error' in record)).toEqual([])
  expect((await ask(door, 'GET', '/api/health')).status).toBe(200)
})

test('a hundred who never finish their request are sent away, and others are answered meanwhile', async () => {
  const before = descriptors()
  const bits = ['G', 'GET /api/health HTTP/1.1\r\n', 'POST /api/workspaces HTTP/1.1\r\nHost: x\r\nX-A: ', '']
  const sockets = Array.from({ length: 100 }, (_, i) => {
    const socket = dial(door)
    socket.write(bits[i % bits.length] ?? '')
    socket.resume()
    return socket
  })
  const drip = setInterval(() => {
    for (const [i, socket] of sockets.entries()) if (i % 4 === 2 && socket.writable) socket.write('a')
  }, 100)
  expect((await ask(door, 'GET', '/api/health')).status).toBe(200)
  expect(sockets.some((socket) => !socket.destroyed)).toBe(true)
  await until(() => sockets.every((socket) => socket.destroyed))
  clearInterval(drip)
  await until(() => descriptors() <= before)
})

test('whoever was refused cannot hold the connection open', async () => {
  const before = descriptors()
  const upgrade = ['GET /api/events HTTP/1.1', 'Host: evil.com', 'Upgrade: websocket', 'Connection: Upgrade']
  const allowed = upgrade.map((line) => line.replace('evil.com', `127.0.0.1:${door.port}`))
  const odd = [...allowed, 'Authorization: Bearer admin', 'Sec-WebSocket-Version: 13']
  const h2c = [...allowed, 'Authorization: Bearer admin'].map((line) => line.replace('websocket', 'h2c'))
  const unauthorized = ['GET /api/workspaces HTTP/1.1', `Host: 127.0.0.1:${door.port}`, 'Content-Length: 10']
  for (const [text, status] of [
    [lines(...upgrade), 421],
    [lines(...allowed), 401],
    [lines(...odd), 400],
    [lines(...h2c), 400],
    [lines(...unauthorized), 401],
    ['no request\r\n\r\n', 400],
  ] as const) {
    // It keeps its own side open, and waits for ours.
    const socket = connect({ port: door.port, host: '127.0.0.1', allowHalfOpen: true })
    socket.on('error', () => undefined)
    let answer = ''
    socket.on('data', (part) => (answer += part.toString()))
    socket.write(text)
    await until(() => socket.readableEnded || socket.destroyed)
    expect(statusIn(answer), `on ${text}`).toBe(status)
    await until(() => descriptors() <= before + 1)
    socket.destroy()
  }
  await until(() => descriptors() <= before)
})

test('more connections than are allowed are closed at once, if all the others are being answered', async () => {
  await using small = await served(core, { over: 'tcp', server: { connections: 3 } })
  const sockets = Array.from({ length: 3 }, () => dial(small))
  let answered = 0
  for (const socket of sockets) {
    socket.once('data', () => answered++)
    const headers = [`Host: 127.0.0.1:${small.port}`, 'Authorization: Bearer admin']
    socket.write(lines('GET /api/events?follow=true HTTP/1.1', ...headers))
  }
  await until(() => answered === 3)
  expect(await raw(small, '')).toBe('')
  expect(sockets.some((socket) => socket.closed)).toBe(false)
  for (const socket of sockets) socket.destroy()
  await until(async () => (await ask(small, 'GET', '/api/health').catch(() => undefined))?.status === 200)
})
