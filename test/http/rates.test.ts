import { afterAll, beforeAll, expect, test } from 'vitest'
import { rateLimiter } from '../../src/http/limits/rates.ts'
import { memoryCore } from '../memory/core.ts'
import { served } from '../support/http-manager.ts'
import { admin, ask, dial, held, lines, until } from './ask.ts'

/** How much one token may ask for: by the minute, and at once. Nobody pays for another. */

const core = memoryCore().manager
const principals = { admin, one: held('one/*'), two: held('two/*') }

beforeAll(async () => {
  await core.call('create', { id: 'one/a' })
})
afterAll(async () => core[Symbol.asyncDispose]())

test('each kind of request has its own measure, and each token', async () => {
  const rates = { create: 2, exec: 3, default: 4 }
  await using door = await served(core, { over: 'tcp', principals, limits: { rates } })
  const create = (token: string, i: number) =>
    ask(door, 'POST', '/api/workspaces', { token, json: { id: `${token}/n${i}` } })
  const exec = () => ask(door, 'POST', '/api/workspaces/one%2Fa/exec', { token: 'one', json: { argv: ['true'] } })
  const list = (token: string) => ask(door, 'GET', '/api/workspaces', { token })
  const statuses = async (count: number, what: (i: number) => Promise<{ status: number }>): Promise<number[]> => {
    const all: number[] = []
    for (let i = 0; i < count; i++) all.push((await what(i)).status)
    return all
  }
  expect(await statuses(3, (i) => create('one', i))).toEqual([201, 201, 429])
  expect(await statuses(4, exec)).toEqual([200, 200, 200, 429])
  expect(await statuses(5, () => list('one'))).toEqual([200, 200, 200, 200, 429])
  expect(await statuses(3, (i) => create('two', i))).toEqual([201, 201, 429])
  expect(await statuses(4, () => list('two'))).toEqual([200, 200, 200, 200])
  const refused = await list('one')
  expect(refused.json).toMatchObject({ code: 'rate_limited', retryable: true })
  const wait = Number(refused.headers['retry-after'])
  expect(wait).toBeGreaterThan(0)
  expect(wait).toBeLessThanOrEqual(15)
  expect(await core.call('exists', { id: 'one/n2' })).toEqual({ exists: false })
  // Addresses that are no operations count, too; those that tell nothing are open to all.
  expect((await ask(door, 'GET', '/api/openapi.json', { token: 'one' })).status).toBe(429)
  expect((await ask(door, 'GET', '/api/health', { token: 'one' })).status).toBe(200)
})

test('who comes by the socket of the machine is not counted', async () => {
  const limits = { rates: { create: 1, exec: 1, default: 1 }, inFlight: 1, streams: 1 }
  await using door = await served(core, { over: 'socket', limits })
  for (let i = 0; i < 5; i++) expect((await ask(door, 'GET', '/api/workspaces', { token: '' })).status).toBe(200)
})

test('a measure is filled again evenly, and never beyond its brim', () => {
  let now = 0
  const rates = rateLimiter({ create: 60, exec: 0, default: 60 }, () => now)
  const taken = (): number => {
    let count = 0
    try {
      for (; count < 1000; count++) rates.take('me', undefined)
    } catch {
      // It is empty.
    }
    return count
  }
  expect(taken()).toBe(60)
  now += 999
  expect(taken()).toBe(0)
  now += 1
  expect(taken()).toBe(1)
  now += 10_000
  expect(taken()).toBe(10)
  now += 10 ** 9
  expect(taken()).toBe(60)
})

test('only so many requests of a token are under way at once', async () => {
  await using door = await served(core, { over: 'tcp', principals, limits: { inFlight: 2, streams: 1 } })
  const slow = (id: string) => {
    const socket = dial(door)
    const head = ['PUT /api/workspaces/one%2Fa/files/upload?path=work/x HTTP/1.1', `Host: 127.0.0.1:${door.port}`]
    const rest = ['Authorization: Bearer one', 'Content-Type: application/octet-stream', 'Content-Length: 10']
    socket.write(lines(...head, ...rest, `X-Request-Id: ${id}`))
    return socket
  }
  const open = [slow('slow'), slow('slower')]
  const list = (token: string) => ask(door, 'GET', '/api/workspaces', { token })
  await until(async () => (await list('one')).status === 429)
  const refused = await list('one')
  expect(refused.headers['retry-after']).toBe('1')
  expect((await list('two')).status).toBe(200)
  // What is done at once holds nothing: least of all what cancels one of them.
  expect((await ask(door, 'GET', '/api/openapi.json', { token: 'one' })).status).toBe(200)
  expect(
    (await ask(door, 'DELETE', '/api/requests/slow', { token: 'one', headers: { 'x-request-id': 'slow' } })).status,
  ).toBe(202)
  await until(async () => (await list('one')).status === 200)
  for (const socket of open) socket.destroy()
})
