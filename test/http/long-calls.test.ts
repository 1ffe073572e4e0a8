import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Principal } from '../../src/access/principal.ts'
import { memoryCore } from '../memory/core.ts'
import { served } from '../support/http-manager.ts'
import type { CallContext, Manager } from '../../src/ports/manager.ts'
import { admin, ask, dial, held, lines, until } from './ask.ts'

/** Calls that go on for long: readers that do not read, and tokens that end meanwhile. */

function core(): Manager {
  const { manager } = memoryCore()
  onTestFinished(() => manager[Symbol.asyncDispose]())
  return manager
}

test('progress that nobody reads is not kept without end, and the answer comes all the same', async () => {
  const manager = core()
  const output = Buffer.alloc(1024, 'x')
  const talkative: Manager = {
    ...manager,
    async call(name, input, context) {
      for (let i = 0; i < 20_000; i++) context?.onProgress?.({ phase: 'talking', output })
      return manager.call(name, input, context)
    },
  }
  await using door = await served(talkative, { over: 'socket' })
  const socket = dial(door)
  socket.pause()
  const body = '{"id":"a"}'
  const head = ['POST /api/workspaces HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']
  socket.write(lines(...head, 'Accept: application/x-ndjson', 'Connection: close', `Content-Length: ${body.length}`))
  socket.write(body)
  await until(async () => (await manager.call('list', {})).length === 1)
  let text = ''
  for await (const part of socket) text += (part as Buffer).toString('latin1')
  expect(text.length).toBeLessThan(4 * 2 ** 20)
  expect(text).toMatch(/"progress"/)
  expect(text).toMatch(/\n\{"result":.*\n\r\n0\r\n\r\n$/)
})

test('an upload ends with its token, and a wait does', async () => {
  const manager = core()
  const { id } = await manager.call('create', { id: 'one' })
  const signals: (AbortSignal | undefined)[] = []
  const waiting = async (context: CallContext | undefined): Promise<never> => {
    signals.push(context?.signal)
    await sleep(60_000, undefined, { signal: context?.signal })
    throw new Error('It was not ended')
  }
  const slow = {
    ...manager,
    call: (name: string, input: never, context?: CallContext) =>
      name === 'wait' ? waiting(context) : manager.call(name as 'show', input, context),
  } as Manager
  const principals: Record<string, Principal> = { admin, agent: held(id) }
  await using door = await served(slow, { over: 'tcp', principals })
  const begin = (first: string, ...headers: string[]) => {
    const socket = dial(door)
    const got = { text: '' }
    socket.on('data', (part) => (got.text += part.toString('latin1')))
    const auth = ['Authorization: Bearer agent', `Host: 127.0.0.1:${door.port}`]
    socket.write(lines(`${first} HTTP/1.1`, ...auth, 'Transfer-Encoding: chunked', ...headers))
    return { socket, got }
  }
  const upload = begin(
    `PUT /api/workspaces/${id}/files/upload?path=work/file`,
    'Content-Type: application/octet-stream',
  )
  upload.socket.write('5\r\nhello\r\n')
  const wait = begin(`POST /api/workspaces/${id}/wait`, 'Content-Type: application/json')
  wait.socket.write('2\r\n{}\r\n0\r\n\r\n')
  await until(() => signals.length === 1)
  delete principals['agent']
  await until(() => upload.got.text !== '' && wait.got.text !== '')
  for (const { got } of [upload, wait]) expect(got.text).toMatch(/^HTTP\/1.1 401 [^]*"code":"unauthorized"/)
  expect(await manager.call('fs list', { id, path: 'work' })).toMatchObject({ entries: [] })
  upload.socket.destroy()
  wait.socket.destroy()
})

test('a time that no clock counts to is refused, before anything has begun', async () => {
  const manager = core()
  await manager.call('create', { id: 'one' })
  await using door = await served(manager, { over: 'tcp' })
  const at = async (path: string, json: object) =>
    (await ask(door, 'POST', `/api/workspaces/one/${path}`, { json })).status
  expect(await at('exec', { argv: ['true'], timeout_ms: 2 ** 31 - 1 })).toBe(200)
  for (const ms of [2 ** 31, 2 ** 32, Number.MAX_SAFE_INTEGER, 1e300, -1, 0.5]) {
    expect(await at('exec', { argv: ['true'], timeout_ms: ms }), `on ${ms}`).toBe(400)
    expect(await at('stop', { grace_ms: ms }), `on ${ms}`).toBe(400)
  }
  expect(await manager.call('history', { id: 'one' })).toHaveLength(1)
})
