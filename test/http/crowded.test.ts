/** More connections than there is room for, and more bodies than there is memory for. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { memoryCore } from '../memory/core.ts'
import { served, type Served, type ServeOptions } from '../support/http-manager.ts'
import { ask, until } from './ask.ts'

const closing: (AsyncDisposable | Disposable)[] = []
afterEach(async () => {
  for (const one of closing.splice(0).toReversed())
    await (Symbol.asyncDispose in one ? one[Symbol.asyncDispose]() : one[Symbol.dispose]())
})

async function open(options: Partial<ServeOptions> = {}): Promise<Served> {
  const core = memoryCore().manager
  await core.call('create', { id: 'a' })
  const door = await served(core, { over: 'tcp', ...options })
  closing.push(core, door)
  return door
}

interface Held {
  readonly socket: Socket
  readonly heard: () => string
  readonly isClosed: () => boolean
}

async function held(door: Served, text = '', localAddress = '127.0.0.1'): Promise<Held> {
  const socket = connect({ port: door.port, host: '127.0.0.1', localAddress })
  let [heard, isClosed] = ['', false]
  socket.on('data', (part: Buffer) => (heard += part.toString()))
  socket.on('error', () => undefined)
  socket.on('close', () => (isClosed = true))
  closing.push({ [Symbol.dispose]: () => void socket.destroy() })
  await once(socket, 'connect')
  if (text !== '') socket.write(text)
  return { socket, heard: () => heard, isClosed: () => isClosed }
}

const many = <T>(count: number, make: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, make))
const health = (door: Served): string => `GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:${door.port}\r\n\r\n`
const list = (door: Served): string =>
  `GET /api/workspaces HTTP/1.1\r\nHost: 127.0.0.1:${door.port}\r\nAuthorization: Bearer admin\r\n\r\n`
const asks = async (door: Served): Promise<number> => (await ask(door, 'GET', '/api/workspaces')).status

describe('connections', () => {
  test('of callers without a token are closed first, the oldest before the others', async () => {
    const door = await open({ server: { connections: 8 } })
    const idle = await many(8, () => held(door))
    for (let i = 0; i < 20; i++) expect(await asks(door)).toBe(200)
    await until(() => idle[0]?.isClosed() === true)
    await many(100, () => held(door))
    expect(await asks(door)).toBe(200)
  })

  test('of one user keep out nobody else, however many they are', async () => {
    // Here users are told apart by their address.
    const peers = () => (socket: Socket) => Number(socket.remoteAddress?.split('.').at(-1))
    const door = await open({ server: { connections: 8, peers } })
    await many(300, () => held(door))
    const quiet = await held(door, '', '127.0.0.2')
    const crowd = await many(300, () => held(door))
    await until(() => crowd.filter(({ isClosed }) => isClosed()).length >= 293)
    expect(quiet.isClosed()).toBe(false)
    quiet.socket.write(list(door))
    await until(() => quiet.heard().startsWith('HTTP/1.1 200 '))
  })

  test('of callers that are idle make room for those who come; what is being answered goes on', async () => {
    const door = await open({ server: { connections: 8 } })
    const follow = list(door).replace('workspaces', 'events?follow=true')
    const [first] = await many(1, () => held(door, follow))
    await until(() => first?.heard().startsWith('HTTP/1.1 200 ') === true)
    const idle = await many(7, () => held(door, list(door)))
    await until(() => idle.every((one) => one.heard().startsWith('HTTP/1.1 200 ')))
    expect(idle.some(({ isClosed }) => isClosed())).toBe(false)
    for (let i = 0; i < 20; i++) expect(await asks(door)).toBe(200)
    expect(first?.isClosed()).toBe(false)
  })

  test('are closed when they say nothing, when they stay idle, and after an answer that needed no token', async () => {
    const door = await open({ server: { headMs: 300, idleMs: 300 } })
    const [silent, idle] = [await held(door), await held(door, list(door))]
    await until(() => silent.isClosed() && idle.isClosed())
    expect(silent.heard()).toMatch(/^HTTP\/1.1 408 /)
    expect(idle.heard()).toMatch(/^HTTP\/1.1 200 /)
    const patient = await open()
    const [open200, none] = [
      await held(patient, health(patient)),
      await held(patient, list(patient).replace('admin', 'x')),
    ]
    await until(() => open200.isClosed() && none.isClosed())
    expect(open200.heard()).toMatch(/^HTTP\/1.1 200 [^]*\r\nConnection: close\r\n/)
    expect(none.heard()).toMatch(/^HTTP\/1.1 401 [^]*\r\nConnection: close\r\n/)
  })
})

describe('bodies', () => {
  const kilobyte = Buffer.alloc(1024)
  const write = (door: Served, name: string, bytes: Uint8Array) =>
    ask(door, 'PUT', `/api/workspaces/a/files/content?path=work/${name}`, {
      bytes,
      headers: { 'content-type': 'application/octet-stream' },
    })
  /** A body of 6 KiB of which nothing comes. */
  const announced = (door: Served): string =>
    `PUT /api/workspaces/a/files/content?path=work/x HTTP/1.1\r\nHost: 127.0.0.1:${door.port}\r\n` +
    'Authorization: Bearer admin\r\nContent-Type: application/octet-stream\r\nContent-Length: 6144\r\n\r\n'

  test('that do not fit into memory beside the others are refused, and taken when there is room again', async () => {
    const door = await open({ limits: { heldBytes: 8 * 1024 } })
    const first = await held(door, announced(door))
    await until(async () => (await write(door, 'y', Buffer.alloc(4096))).status === 503)
    const refused = await write(door, 'y', Buffer.alloc(4096))
    expect(refused.headers['retry-after']).toBe('1')
    expect(refused.json).toMatchObject({ code: 'rate_limited', status: 503, retryable: true })
    // What fits is taken, and so is what is not held.
    expect((await write(door, 'y', kilobyte)).status).toBe(200)
    const upload = { bytes: Buffer.alloc(64 * 1024), headers: { 'content-type': 'application/octet-stream' } }
    expect((await ask(door, 'PUT', '/api/workspaces/a/files/upload?path=work/z', upload)).status).toBe(200)
    const message = { json: { jsonrpc: '2.0', id: 1, method: 'ping', params: { filler: 'x'.repeat(4096) } } }
    expect((await ask(door, 'POST', '/api/workspaces', message)).status).toBe(503)
    first.socket.write(Buffer.alloc(6144))
    await until(() => first.heard().startsWith('HTTP/1.1 200 '))
    expect((await write(door, 'y', Buffer.alloc(4096))).status).toBe(200)
    // Waiting would not help.
    expect((await write(door, 'y', Buffer.alloc(16 * 1024))).status).toBe(413)
    first.socket.destroy()
  })

  test('that come without their size are counted as they come, and whoever leaves gives it back', async () => {
    const door = await open({ limits: { heldBytes: 8 * 1024 } })
    const chunked = announced(door).replace('Content-Length: 6144', 'Transfer-Encoding: chunked')
    const first = await held(door, `${chunked}1800\r\n${'x'.repeat(6144)}\r\n`)
    await until(async () => (await write(door, 'y', Buffer.alloc(4096))).status === 503)
    first.socket.destroy()
    await until(async () => (await write(door, 'y', Buffer.alloc(4096))).status !== 503)
    expect((await write(door, 'y', Buffer.alloc(4096))).status).toBe(200)
  })

  test("of the home's own user are never refused", async () => {
    const door = await open({ over: 'socket', limits: { heldBytes: 8 * 1024 } })
    const written = await door.manager.call('fs write', { id: 'a', path: 'work/x', content: Buffer.alloc(64 * 1024) })
    expect(written.size).toBe(64 * 1024)
  })
})
