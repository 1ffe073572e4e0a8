import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import type { Manager } from '../../src/ports/manager.ts'
import { collect } from '../support/collect.ts'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { ask, raw, lines } from './ask.ts'

/** One id ties an answer to the line of the daemon and to the events that came of it. */

let core: Manager
let door: Served

beforeEach(async () => {
  core = memoryCore().manager
  door = await served(core, { over: 'tcp' })
})
afterEach(async () => {
  await door[Symbol.asyncDispose]()
  await core[Symbol.asyncDispose]()
})

const eventsOf = async (correlation: string): Promise<string[]> =>
  (await collect(core.stream('events', { correlation }))).map(({ type }) => type)
const logged = (operation: string): unknown[] =>
  door.logged.filter((line) => line['operation'] === operation).map((line) => line['correlation_id'])

test('who brings none gets a new one, which is in the answer, the log and the events', async () => {
  const made = await ask(door, 'POST', '/api/workspaces', { json: { id: 'a' } })
  const id = String(made.headers['aw-correlation-id'])
  expect(id).toMatch(/^cor_[0-9a-z]{26}$/)
  expect(logged('create')).toEqual([id])
  expect(await eventsOf(id)).toContain('workspace_created')
  const other = await ask(door, 'POST', '/api/workspaces', { json: { id: 'b' } })
  expect(other.headers['aw-correlation-id']).not.toBe(id)
})

test('one that is brought is kept, whatever is in it', async () => {
  const id = 'job 7 · é'
  const headers = { 'aw-correlation-id': encodeURIComponent(id) }
  const made = await ask(door, 'POST', '/api/workspaces', { json: { id: 'a' }, headers })
  expect(decodeURIComponent(String(made.headers['aw-correlation-id']))).toBe(id)
  expect(logged('create')).toEqual([id])
  expect(await eventsOf(id)).toContain('workspace_created')
})

test('what is refused has one too', async () => {
  const wrong = await ask(door, 'GET', '/api/workspaces', { headers: { 'aw-correlation-id': '%ff' } })
  expect(wrong.status).toBe(400)
  const stranger = await ask(door, 'GET', '/api/workspaces', { token: 'nobody' })
  expect(stranger.status).toBe(401)
  const ids = [wrong, stranger].map(({ headers }) => headers['aw-correlation-id'])
  for (const id of ids) expect(id).toMatch(/^cor_/)
  expect(door.logged.map((line) => line['correlation_id'])).toEqual(ids)
})

test('so does a WebSocket, taken or refused', async () => {
  await core.call('create', { id: 'a' })
  const path = '/api/workspaces/a/exec'
  const headers = { authorization: 'Bearer admin', 'aw-correlation-id': 'by-socket' }
  const socket = new WebSocket(`ws://127.0.0.1:${door.port}${path}`, { headers })
  const [[answer]] = (await Promise.all([once(socket, 'upgrade'), once(socket, 'open')])) as [
    [IncomingMessage],
    unknown,
  ]
  expect(answer.headers['aw-correlation-id']).toBe('by-socket')
  expect(answer.headers['x-request-id']).toMatch(/^req_/)
  socket.send(JSON.stringify({ argv: ['echo', 'hello'] }))
  await once(socket, 'close')
  expect(await eventsOf('by-socket')).toContain('command_started')
  await expect.poll(() => logged('exec')).toEqual(['by-socket'])
  const refused = await raw(
    door,
    lines(`GET ${path} HTTP/1.1`, `Host: 127.0.0.1:${door.port}`, 'Connection: Upgrade', 'Upgrade: websocket'),
  )
  expect(refused).toMatch(/^HTTP\/1\.1 401[^]*\r\nAW-Correlation-Id: cor_/)
})
