import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Principal } from '../../src/access/principal.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { collect } from '../support/collect.ts'
import { memoryCore } from '../memory/core.ts'
import { served, type Served, type ServeOptions } from '../support/http-manager.ts'
import { admin, ask, held, until } from './ask.ts'

/** Server-sent events and WebSockets: where they begin, what they lose, and when they end. */

const closing: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of closing.splice(0).toReversed()) await one[Symbol.asyncDispose]()
})

async function open(options: Partial<ServeOptions> = {}): Promise<{ core: Manager; door: Served }> {
  const core = memoryCore({ set: { 'snapshots.max': '1000' } }).manager
  const door = await served(core, { over: 'tcp', ...options })
  closing.push(core, door)
  return { core, door }
}

interface Sent {
  readonly id?: string
  readonly event?: string
  readonly data?: { position: number; type: string; stream: string }
}

/** A reader as a browser has it: what it has seen, and comments beside it. */
interface Reader {
  readonly seen: Sent[]
  readonly comments: string[]
  readonly isOver: () => boolean
  readonly response: IncomingMessage
  readonly resume: () => void
}

async function read(
  door: Served,
  path: string,
  { token = 'admin', last, paused = false }: { token?: string; last?: string; paused?: boolean } = {},
): Promise<Reader> {
  const headers = {
    accept: 'text/event-stream',
    authorization: `Bearer ${token}`,
    ...(last !== undefined && { 'last-event-id': last }),
  }
  const asked = get({ ...door.address, path, headers, agent: false })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  expect(response.headers['content-type']).toBe('text/event-stream')
  closing.push({ [Symbol.asyncDispose]: async () => void response.destroy() })
  const [seen, comments]: [Sent[], string[]] = [[], []]
  let [rest, isOver] = ['', false]
  const take = (part: Buffer): void => {
    const blocks = (rest + part.toString('utf8')).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = new Map(block.split('\n').map((line): [string, string] => [line.split(': ')[0] ?? '', line]))
      const value = (name: string): string | undefined => fields.get(name)?.slice(name.length + 2)
      const data = value('data')
      if (data === undefined) comments.push(block)
      else
        seen.push({
          ...(value('id') !== undefined && { id: value('id') as string }),
          event: value('event') ?? '',
          data: JSON.parse(data) as NonNullable<Sent['data']>,
        })
    }
  }
  response.on('error', () => undefined)
  response.on('close', () => (isOver = true))
  const resume = (): void => void response.on('data', take)
  if (!paused) resume()
  return { seen, comments, isOver: () => isOver, response, resume }
}

const label = (core: Manager, id: string, value: string): Promise<unknown> =>
  core.call('label', { id, labels: { key: value } })

describe('server-sent events', () => {
  test('come in order, each with its position; a reader goes on where it was', async () => {
    const { core, door } = await open()
    await core.call('create', { id: 'one' })
    const all = await collect(core.stream('events', {}))
    const first = await read(door, '/api/events')
    await until(() => first.isOver())
    expect(first.seen.map(({ id }) => Number(id))).toEqual(all.map(({ position }) => position))
    expect(first.seen.map(({ event }) => event)).toEqual(all.map(({ type }) => type))
    const last = String(all[0]?.position)
    for (const [path, id] of [
      [`/api/events?after=${last}`, undefined],
      ['/api/events', last],
      // Who comes again comes with the address of the first time.
      ['/api/events?after=0', last],
      ['/api/events?follow=false', last],
      // Of what it has missed nothing is left out.
      ['/api/events?tail=1', last],
    ] as const) {
      const again = await read(door, path, id === undefined ? {} : { last: id })
      await until(() => again.isOver())
      expect(again.seen.map(({ data }) => data)).toEqual(all.slice(1).map((event) => ({ ...event })))
    }
    const tail = await read(door, '/api/events?tail=2')
    await until(() => tail.isOver())
    expect(tail.seen.map(({ id }) => Number(id))).toEqual(all.slice(-2).map(({ position }) => position))
    const end = await read(door, '/api/events', { last: String(10 ** 14) })
    await until(() => end.isOver())
    expect(end.seen).toEqual([])
  })

  test('are held to a workspace, a type and a number', async () => {
    const { core, door } = await open()
    await core.call('create', { id: 'one' })
    const { id } = await core.call('create', { id: 'two' })
    const some = await read(door, '/api/events?workspace=two&type=workspace_created')
    await until(() => some.isOver())
    expect(some.seen.map(({ data }) => [data?.type, data?.stream])).toEqual([['workspace_created', id]])
    const few = await read(door, '/api/events?limit=2')
    await until(() => few.isOver())
    expect(few.seen).toHaveLength(2)
    expect(
      (
        await ask(door, 'GET', '/api/events?workspace=ws_7zzzzzzzzzzzzzzzzzzzzzzzzz', {
          headers: { accept: 'text/event-stream' },
        })
      ).text,
    ).toContain('event: error')
  })

  test('a reader is shown that the daemon is there while nothing happens', async () => {
    const { core, door } = await open({ limits: { heartbeatMs: 30 } })
    const quiet = await read(door, '/api/events?follow=true&from_now=true')
    await until(() => quiet.comments.filter((text) => text === ': ').length > 2)
    await core.call('create', { id: 'one' })
    await until(() => quiet.seen.some(({ event }) => event === 'workspace_created'))
    expect(quiet.isOver()).toBe(false)
  })

  test('a slow reader is dropped with a word, and loses nothing when it comes again', async () => {
    const { core } = await open()
    let isLeft = false
    async function* watched(items: AsyncIterable<object>): AsyncGenerator<object> {
      try {
        yield* items
      } finally {
        isLeft = true
      }
    }
    const stream = (name: 'events', input: object) => watched(core.stream(name, input))
    const door = await served({ ...core, stream } as unknown as Manager, {
      over: 'tcp',
      limits: { slowReaderMs: 2_000 },
    })
    closing.push(door)
    const { id } = await core.call('create', { id: 'one' })
    const meta = { text: 'a'.repeat(60_000) }
    for (let i = 0; i < 150; i++) await core.call('snapshot', { id, meta, key: `k${i}` })
    const all = await collect(core.stream('events', {}))
    const slow = await read(door, '/api/events?follow=true', { paused: true })
    // It is told so as soon as nothing more is read for it, and has a while to read that.
    await until(() => isLeft)
    slow.resume()
    await until(() => slow.isOver())
    const dropped = slow.seen.at(-1)
    expect(dropped?.event).toBe('dropped')
    const seen = slow.seen.slice(0, -1)
    expect(seen.length).toBeLessThan(all.length)
    expect(dropped?.data).toEqual({ reason: 'too slow', after: Number(seen.at(-1)?.id) })
    const again = await read(door, '/api/events', { last: seen.at(-1)?.id ?? '' })
    await until(() => again.isOver())
    expect([...seen, ...again.seen].map(({ id }) => Number(id))).toEqual(all.map(({ position }) => position))
  })

  test('many readers see the same, though one of them reads nothing', async () => {
    const { core, door } = await open()
    const idle = await read(door, '/api/events?follow=true', { paused: true })
    const readers = await Promise.all(Array.from({ length: 6 }, () => read(door, '/api/events?follow=true')))
    const { id } = await core.call('create', { id: 'one' })
    for (let i = 0; i < 20; i++) await label(core, id, String(i))
    const all = await collect(core.stream('events', {}))
    await until(() => readers.every(({ seen }) => seen.length === all.length))
    idle.resume()
    await until(() => idle.seen.length === all.length)
    for (const { seen } of readers) expect(seen).toEqual(idle.seen)
  })
})

const upgrade = (door: Served, path: string, token: string, more: Record<string, string> = {}): WebSocket =>
  new WebSocket(`ws://127.0.0.1:${door.port}${path}`, { headers: { authorization: `Bearer ${token}`, ...more } })

describe('a token that is revoked', () => {
  test('ends its open streams, and those of nobody else', async () => {
    const principals: Record<string, Principal> = { admin, gone: { ...admin, actor: 'token:tok_gone' } }
    const { core, door } = await open({ principals })
    const [theirs, ours] = [
      await read(door, '/api/events?follow=true', { token: 'gone' }),
      await read(door, '/api/events?follow=true'),
    ]
    const socket = upgrade(door, '/api/events', 'gone')
    const messages: string[] = []
    socket.on('message', (data: Buffer) => messages.push(data.toString()))
    await once(socket, 'open')
    socket.send('{"follow":true}')
    // One that has not said yet what it wants.
    const silent = upgrade(door, '/api/events', 'gone')
    await once(silent, 'open')
    await core.call('create', { id: 'one' })
    await until(() => messages.length > 0 && theirs.seen.length > 0)
    delete principals['gone']
    const [code] = (await Promise.all([once(socket, 'close'), until(() => theirs.isOver())]))[0] as [number]
    expect(code).toBe(1000)
    expect(theirs.seen.at(-1)?.event).toBe('closing')
    const count = { theirs: theirs.seen.length, messages: messages.length }
    await label(core, 'one', 'later')
    await until(() =>
      ours.seen.some(({ event }) => event === 'workspace_labelled' || event?.includes('label') === true),
    )
    expect({ theirs: theirs.seen.length, messages: messages.length }).toEqual(count)
    silent.send('{"follow":true}')
    await once(silent, 'close')
    expect((await ask(door, 'GET', '/api/workspaces', { token: 'gone' })).status).toBe(401)
  })
})

test('a token that loses a workspace sees no more of it, not even if that comes back', async () => {
  const { core } = await open()
  const { id: kept } = await core.call('create', { id: 'kept' })
  const { id: lost } = await core.call('create', { id: 'lost' })
  const principals: Record<string, Principal> = { agent: held(kept, lost) }
  const own = await served(core, { over: 'tcp', principals })
  closing.push(own)
  const before = await read(own, '/api/events?follow=true', { token: 'agent' })
  await until(() => before.seen.some(({ data }) => data?.stream === lost))
  // As when it was destroyed, and brought back by its user.
  principals['agent'] = held(kept)
  await until(() => before.isOver())
  expect(before.seen.at(-1)?.event).toBe('closing')
  const after = await read(own, '/api/events?follow=true', { token: 'agent' })
  await until(() => after.seen.some(({ data }) => data?.stream === kept))
  expect(after.seen.filter(({ data }) => data?.stream === lost)).toEqual([])
})

describe('a WebSocket', () => {
  const refused = async (socket: WebSocket): Promise<number> => {
    const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
    response.resume()
    socket.on('error', () => undefined)
    socket.terminate()
    return response.statusCode ?? 0
  }

  test('is refused as a request would be: by page, host, token, scope and address', async () => {
    const principals = { admin, reader: { ...held('one/main'), scopes: ['read' as const] } }
    const { core, door } = await open({ principals })
    await core.call('create', { id: 'one' })
    const exec = '/api/workspaces/one/exec'
    expect(await refused(upgrade(door, exec, 'admin', { origin: 'http://evil.com' }))).toBe(403)
    expect(await refused(upgrade(door, exec, 'admin', { 'sec-fetch-site': 'cross-site' }))).toBe(403)
    expect(await refused(upgrade(door, exec, 'admin', { host: 'evil.com' }))).toBe(421)
    expect(await refused(upgrade(door, exec, 'nobody'))).toBe(401)
    expect(await refused(upgrade(door, exec, 'reader'))).toBe(403)
    expect(door.logged.map(({ status, operation, actor }) => [status, operation, actor])).toEqual([
      [403, 'none', undefined],
      [403, 'none', undefined],
      [421, 'none', undefined],
      [401, 'none', undefined],
      [403, 'exec', principals.reader.actor],
    ])
    for (const path of ['/api/workspaces', '/api/health', '/api/none', '//x/api/events'])
      expect(await refused(upgrade(door, path, 'admin')), `on ${path}`).toBe(404)
  })

  test('whose first message is not the input is closed; what is out of reach is unknown', async () => {
    const { core, door } = await open({ principals: { admin, mine: held('mine/*') } })
    const { id } = await core.call('create', { id: 'theirs/one' })
    await core.call('create', { id: 'mine/one' })
    const first = async (path: string, token: string, message: string | Buffer): Promise<string> => {
      const socket = upgrade(door, path, token)
      await once(socket, 'open')
      socket.send(message)
      const [data] = (await once(socket, 'message')) as [Buffer]
      await once(socket, 'close')
      return (JSON.parse(data.toString()) as { error: { code: string } }).error.code
    }
    const exec = '/api/workspaces/mine%2Fone/exec'
    for (const message of ['', 'x', '[]', '"text"', '{"argv":1}', '{"argv":["true"],"argv":[]}', '{"__proto__":{}}'])
      expect(await first(exec, 'mine', message), `on ${message}`).toBe('invalid_input')
    expect(await first(exec, 'mine', Buffer.from('{"argv":["true"]}'))).toBe('invalid_input')
    expect(await first(exec, 'mine', '{"argv":["true"],"isolation":"none"}')).toBe('permission_denied')
    // What the path says is not said again, and not otherwise.
    expect(await first(`/api/workspaces/${id}/exec`, 'mine', '{"id":"mine","argv":["true"]}')).toBe('invalid_input')
    expect(await first(`/api/workspaces/${id}/exec`, 'mine', '{"argv":["true"]}')).toBe('workspace_not_found')
    expect(await first(`/api/workspaces/${id}/ports/x`, 'admin', '{}')).toBe('invalid_input')
  })

  test('closes at once when the command leaves its input unread: the rest is taken, and thrown away', async () => {
    const { core, door } = await open()
    await core.call('create', { id: 'one' })
    const socket = upgrade(door, '/api/workspaces/one/exec', 'admin')
    const messages: string[] = []
    socket.on('message', (data: Buffer) => messages.push(data.toString()))
    await once(socket, 'open')
    const closed = once(socket, 'close')
    socket.send('{"argv":["true"]}')
    // More than fits between the two. A send that the daemon never reads fails when the connection is given up.
    const pieces = Array.from({ length: 128 }, () => Buffer.alloc(64 * 1024))
    const sends = pieces.map((piece) => new Promise<unknown>((resolve) => socket.send(piece, resolve)))
    expect((await Promise.all(sends)).filter(Boolean)).toEqual([])
    expect((await closed)[0]).toBe(1000)
    expect(JSON.parse(messages.at(-1) ?? '')).toMatchObject({ type: 'exit', code: 0 })
  })

  test('with a message that cannot be read ends with that, and not as if all input had come', async () => {
    const { core, door } = await open()
    await core.call('create', { id: 'one' })
    for (const message of ['nope', '{"kind":"nope"}', '{"kind":"resize","columns":0,"rows":0}', '[]']) {
      const socket = upgrade(door, '/api/workspaces/one/exec', 'admin')
      await once(socket, 'open')
      const heard: { code?: number }[] = []
      socket.on('message', (data: Buffer) => heard.push(JSON.parse(data.toString()) as object))
      socket.send('{"argv":["cat"]}')
      socket.send(Buffer.from('half of it'))
      socket.send(message)
      await once(socket, 'close')
      expect(heard.at(-1), `on ${message}`).toMatchObject({ error: { code: 'invalid_input' } })
      expect(heard.filter(({ code }) => code === 0)).toEqual([])
    }
  })

  test('that is asked for in a wrong way takes none of the streams of its token', async () => {
    const { door } = await open({ limits: { streams: 2 } })
    const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
    for (let i = 0; i < 5; i++) {
      const answer = await ask(door, 'GET', '/api/events', { headers })
      expect(answer.status).toBe(400)
    }
    const open2 = [upgrade(door, '/api/events', 'admin'), upgrade(door, '/api/events', 'admin')]
    await Promise.all(open2.map((socket) => once(socket, 'open')))
    expect(await refused(upgrade(door, '/api/events', 'admin'))).toBe(429)
    expect((await ask(door, 'GET', '/api/events')).status).toBe(429)
    for (const socket of open2) socket.terminate()
    await until(async () => (await ask(door, 'GET', '/api/events')).status === 200)
  })
})
