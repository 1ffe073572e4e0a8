import { afterEach, expect, test } from 'vitest'
import type { Manager } from '../../src/ports/manager.ts'
import { collect } from '../support/collect.ts'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { ask, type Answer } from './ask.ts'

/** What a program that speaks plain HTTP gets for a workspace: its id, its parts, and a word when it is in use. */

const closing: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of closing.splice(0).toReversed()) await one[Symbol.asyncDispose]()
})

async function open(): Promise<{ core: Manager; door: Served }> {
  const core = memoryCore().manager
  const door = await served(core, { over: 'tcp' })
  closing.push(core, door)
  return { core, door }
}

test('who makes a workspace is answered 201 with it, and its id is another than its name', async () => {
  const { door } = await open()
  const made = await ask(door, 'POST', '/api/workspaces', { json: { id: 'task/agent', labels: { key: 'value' } } })
  expect(made.status).toBe(201)
  expect(made.headers['content-type']).toBe('application/json')
  const { id } = made.json
  expect(id).toMatch(/^ws_[0-9a-z]{26}$/)
  expect(made.json).toMatchObject({ workspace_id: 'task/agent', state: 'ready', labels: { key: 'value' } })
  for (const ref of [String(id), 'task%2Fagent'])
    expect((await ask(door, 'GET', `/api/workspaces/${ref}`)).json).toMatchObject(made.json)
  const again = await ask(door, 'POST', '/api/workspaces', { json: { id: 'task/agent' } })
  expect([again.status, again.json['code']]).toEqual([409, 'workspace_exists'])
})

test('forks are answered 201 if any was made; if none was, 200 with why', async () => {
  const { core, door } = await open()
  for (const id of ['one', 'two', 'three']) await core.call('create', { id })
  const fork = (...to: string[]): Promise<Answer> => ask(door, 'POST', '/api/workspaces/one/fork', { json: { to } })
  const none = await fork('two', 'three')
  expect(none.status).toBe(200)
  const failed = { ok: false, workspace: null, error: { code: 'workspace_exists' } }
  expect(none.json['forks']).toMatchObject([failed, failed])
  const some = await fork('two', 'four')
  expect([some.status, some.json['forks']]).toMatchObject([201, [failed, { ok: true }]])
  expect((await fork('two')).status).toBe(409)
})

test('a workspace is not taken away while something runs in it, by whichever name; afterwards it is', async () => {
  const { core, door } = await open()
  const [started] = await collect(core.stream('run', { id: 'job', argv: ['sleep', '600'], detach: true }))
  const run = started?.run?.run ?? ''
  expect(run).toMatch(/^run_/)
  const refs = [run, 'job', (await core.call('show', { id: 'job' })).id]
  for (const ref of refs) {
    const refused = await ask(door, 'DELETE', `/api/workspaces/${ref}`)
    expect([refused.status, refused.json['code']], `on ${ref}: ${refused.text}`).toEqual([409, 'workspace_active'])
  }
  expect(await core.call('exists', { id: 'job' })).toEqual({ exists: true })
  await core.call('cancel', { id: 'job', grace_ms: 0 })
  const gone = await ask(door, 'DELETE', `/api/workspaces/${run}`)
  expect([gone.status, gone.json['removed']]).toEqual([200, true])
  expect(await core.call('exists', { id: 'job' })).toEqual({ exists: false })
  expect((await ask(door, 'DELETE', `/api/workspaces/${run}`)).status).toBe(404)
})

test('a part of a file is asked for with Range, as it is read at once and as it is sent on', async () => {
  const { core, door } = await open()
  await core.call('create', { id: 'one' })
  await core.call('fs write', { id: 'one', path: 'work/file', content: '0123456789' })
  await core.call('fs write', { id: 'one', path: 'work/empty', content: '' })
  for (const way of ['content', 'download']) {
    const read = (range: string, path = 'work/file'): Promise<Answer> =>
      ask(door, 'GET', `/api/workspaces/one/files/${way}?path=${path}`, { headers: { range } })
    const parts: [string, string, string][] = [
      ['bytes=0-3', '0123', 'bytes 0-3/10'],
      ['bytes=4-4', '4', 'bytes 4-4/10'],
      ['bytes=7-', '789', 'bytes 7-9/10'],
      ['bytes=-2', '89', 'bytes 8-9/10'],
      ['bytes=-99', '0123456789', 'bytes 0-9/10'],
      ['bytes=8-99', '89', 'bytes 8-9/10'],
    ]
    for (const [range, text, told] of parts) {
      const answer = await read(range)
      const { status, headers } = answer
      expect([status, answer.text, headers['content-range']], `${way} ${range}`).toEqual([206, text, told])
      expect(headers['content-length']).toBe(String(text.length))
    }
    for (const range of ['bytes=10-', 'bytes=99-100', 'bytes=-0']) {
      const { status, headers, text } = await read(range)
      expect([status, headers['content-range'], text], `${way} ${range}`).toEqual([
        416,
        'bytes */10',
        expect.stringContaining('"code":"invalid_input"'),
      ])
    }
    expect((await read('bytes=0-', 'work/empty')).status).toBe(416)
    // What is no range, several, or of another unit is as if nobody had asked for a part.
    for (const range of ['bytes=5-2', 'bytes=0-1,4-5', 'lines=0-1', 'bytes=-', 'bytes=a-b']) {
      const { status, headers, text } = await read(range)
      expect([status, text, headers['content-range']], `${way} ${range}`).toEqual([200, '0123456789', undefined])
      expect(headers['accept-ranges']).toBe('bytes')
    }
    expect((await read('bytes=0-1', 'work/none')).status).toBe(404)
  }
})
