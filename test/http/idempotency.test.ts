import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { dirIdempotencyStore } from '../../src/drivers/idempotency/dir.ts'
import type { IdempotencyStore } from '../../src/ports/idempotency-store.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { collect } from '../support/collect.ts'
import { memoryIdempotencyStore } from '../memory/idempotency-store.ts'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { admin, ask, held, type Answer, type Question } from './ask.ts'

/** A request that is sent again with the same key is done once, whoever dies in between. */

const kinds = [
  { kind: 'in memory', make: () => memoryIdempotencyStore() },
  { kind: 'in a directory', make: (directory: string) => dirIdempotencyStore(directory) },
]

describe.each(kinds)('answers $kind', ({ make }) => {
  let directory: string
  let core: Manager
  let answers: IdempotencyStore
  let door: Served
  const principals = { admin, other: { ...admin, actor: 'token:tok_other' }, maker: held('made/*') }

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'aw-answers-'))
    core = memoryCore().manager
    answers = make(directory)
    door = await served(core, { over: 'tcp', answers, principals })
  })
  afterEach(async () => {
    await door[Symbol.asyncDispose]()
    await core[Symbol.asyncDispose]()
    await rm(directory, { recursive: true })
  })

  const make1 = (key: string, question: Question = {}): Promise<Answer> =>
    ask(door, 'POST', '/api/workspaces', {
      json: { id: 'made/one' },
      ...question,
      headers: { 'idempotency-key': key, ...question.headers },
    })
  const created = async (): Promise<number> =>
    (await collect(core.stream('events', { type: ['workspace_created'] }))).length

  /** The daemon ends, and another takes its place, with what the first has kept. */
  async function restart(): Promise<void> {
    await door[Symbol.asyncDispose]()
    door = await served(core, { over: 'tcp', answers, principals })
  }

  test('the same request is answered as the first time, also by another daemon', async () => {
    const first = await make1('k')
    expect(first.status).toBe(201)
    expect(first.headers['idempotency-replayed']).toBeUndefined()
    for (const again of [await make1('k'), (await restart(), await make1('k'))]) {
      expect({ status: again.status, json: again.json }).toEqual({ status: 201, json: first.json })
      expect(again.headers['idempotency-replayed']).toBe('true')
    }
    expect(await created()).toBe(1)
  })

  test('at the same time it is done once; the others are told to ask again', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => make1('k')))
    const statuses = all.map(({ status }) => status)
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(1)
    for (const answer of all.filter(({ status }) => status !== 201)) {
      expect(answer.json).toMatchObject({ status: 409, code: 'idempotency_conflict' })
      expect(answer.headers['retry-after']).toBe('1')
    }
    expect(await created()).toBe(1)
  })

  test('another request with the same key is refused, while the first is done and afterwards', async () => {
    const [first, second] = await Promise.all([make1('k'), make1('k', { json: { id: 'made/two' } })])
    expect([first.status, second.status]).toEqual([201, 409])
    expect((await make1('k', { json: { id: 'made/three' } })).json['code']).toBe('idempotency_conflict')
    const other = await ask(door, 'DELETE', '/api/workspaces/made%2Fone', { headers: { 'idempotency-key': 'k' } })
    expect(other.json['code']).toBe('idempotency_conflict')
    expect(await created()).toBe(1)
  })

  test('a key is of whoever sends it', async () => {
    expect((await make1('k')).status).toBe(201)
    expect((await make1('k', { token: 'other', json: { id: 'made/two' } })).status).toBe(201)
    expect((await make1('k', { token: 'maker', json: { id: 'made/three' } })).status).toBe(201)
  })

  test('what was refused is not kept', async () => {
    await core.call('create', { id: 'made/one' })
    expect((await make1('k')).status).toBe(409)
    await core.call('destroy', { id: 'made/one' })
    expect((await make1('k')).status).toBe(201)
    expect((await make1('l', { json: { id: '..' } })).status).toBe(400)
    expect((await make1('l', { json: { id: 'made/two' } })).status).toBe(201)
  })

  test('a key is of a length that can be kept, and is for writes that can be answered again', async () => {
    expect((await make1('k'.repeat(256))).status).toBe(400)
    expect((await make1('k'.repeat(255))).status).toBe(201)
    const headers = { 'idempotency-key': 'k' }
    const at = '/api/workspaces/made%2Fone'
    expect((await ask(door, 'GET', at, { headers })).status).toBe(200)
    expect((await ask(door, 'POST', `${at}/exec`, { headers, json: { argv: ['true'] } })).status).toBe(400)
    const socket = { ...headers, connection: 'Upgrade', upgrade: 'websocket' }
    expect((await ask(door, 'GET', `${at}/exec`, { headers: socket })).status).toBe(400)
    expect(await collect(core.stream('events', { type: ['command_started'] }))).toEqual([])
  })

  test('a run is begun once if nobody waits for it, and refused with a key if somebody does', async () => {
    const run = (json: object, headers: Record<string, string> = {}): Promise<Answer> =>
      ask(door, 'POST', '/api/runs', { json, headers: { 'idempotency-key': 'k', ...headers } })
    const runs = async (): Promise<number> => (await collect(core.stream('events', { type: ['run_requested'] }))).length
    const asked = { id: 'made/one', argv: ['echo', 'hello'], detach: true }
    const waiting = await run({ ...asked, detach: false })
    expect([waiting.status, waiting.json['hint']]).toEqual([400, expect.stringContaining('detach: true')])
    expect(await runs()).toBe(0)
    const first = await run(asked)
    expect([first.status, first.headers['content-type']]).toEqual([200, 'application/x-ndjson'])
    expect(first.json).toMatchObject({ type: 'started', workspace: 'made/one', run: { number: 1 } })
    for (const again of [await run(asked), (await restart(), await run(asked))]) {
      expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true'])
    }
    const events = await run(asked, { accept: 'text/event-stream' })
    expect(events.text).toContain(`event: started\ndata: ${first.text}`)
    expect((await run({ ...asked, argv: ['true'] })).json['code']).toBe('idempotency_conflict')
    expect(await runs()).toBe(1)
  })

  test('an upload is done once; other bytes under its key are another request', async () => {
    await core.call('create', { id: 'made/one' })
    const upload = (bytes: string): Promise<Answer> =>
      ask(door, 'PUT', '/api/workspaces/made%2Fone/files/upload?path=work/x', {
        bytes,
        headers: { 'idempotency-key': 'k', 'content-type': 'application/octet-stream' },
      })
    const first = await upload('one')
    expect(first.json).toMatchObject({ path: 'work/x', size: 3 })
    await core.call('fs write', { id: 'made/one', path: 'work/x', content: Buffer.from('changed since') })
    for (const again of [await upload('one'), (await restart(), await upload('one'))])
      expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true'])
    expect((await upload('two')).json['code']).toBe('idempotency_conflict')
    expect(String(await core.call('fs read', { id: 'made/one', path: 'work/x' }))).toBe('changed since')
  })

  test('an answer with a secret is kept nowhere', async () => {
    const json = { scopes: ['read'], label: 'ci' }
    expect((await ask(door, 'POST', '/api/tokens', { json, headers: { 'idempotency-key': 'k' } })).status).toBe(400)
    const made = await ask(door, 'POST', '/api/tokens', { json })
    expect(made.status).toBe(201)
    const kept = readdirSync(directory).map((name) => readFileSync(join(directory, name), 'utf8'))
    expect(kept.join()).not.toContain(String(made.json['token']))
    expect(JSON.stringify(door.logged)).not.toContain(String(made.json['token']))
  })

  describe('the daemon died while it did it', () => {
    const note = (key: string, correlationId: string, actor = 'token:tok_admin') =>
      answers.begin(`${actor}\n${key}`, { print: printOf, correlationId })
    let printOf: string

    beforeEach(async () => {
      // The note of a daemon that does the same request, and dies before it has an answer.
      const spied: IdempotencyStore = { ...answers, begin: async (_, one) => ((printOf = one.print), { state: 'new' }) }
      const stub = { ...core, call: async () => Promise.reject(new Error('died')) } as unknown as Manager
      await using dying = await served(stub, { over: 'tcp', answers: spied, principals })
      await ask(dying, 'POST', '/api/workspaces', { json: { id: 'made/one' }, headers: { 'idempotency-key': 'k' } })
    })

    test('before anything was done: it is done now, once, however many ask', async () => {
      await note('k', 'cor_nothing')
      const all = await Promise.all(Array.from({ length: 5 }, () => make1('k')))
      expect(all.filter(({ status }) => status === 201).length).toBeGreaterThanOrEqual(1)
      expect(await created()).toBe(1)
      expect((await make1('k')).status).toBe(201)
      expect(await created()).toBe(1)
    })

    test('after something was done: it is not known how far it came, and is not done again', async () => {
      await note('k', 'cor_begun')
      await core.call('create', { id: 'made/one' }, { correlationId: 'cor_begun' })
      for (let i = 0; i < 2; i++) {
        const answer = await make1('k')
        expect(answer.json).toMatchObject({ status: 409, code: 'idempotency_conflict' })
        expect(answer.json['hint']).toContain('cor_begun')
      }
      expect(await created()).toBe(1)
    })

    test('and its caller may not read the log: it is asked all the same', async () => {
      const writer = { ...held('made/*'), actor: 'token:tok_writer', scopes: ['workspace' as const] }
      await using other = await served(core, { over: 'tcp', answers, principals: { writer } })
      await note('k', 'cor_begun', 'token:tok_writer')
      await core.call('create', { id: 'made/one' }, { correlationId: 'cor_begun' })
      const headers = { 'idempotency-key': 'k' }
      const answer = await ask(other, 'POST', '/api/workspaces', { token: 'writer', json: { id: 'made/one' }, headers })
      expect(answer.json['code']).toBe('idempotency_conflict')
      expect(await created()).toBe(1)
    })

    test('twice: what the second one did is known too', async () => {
      await note('k', 'cor_nothing')
      // The second finds nothing, notes itself, does it, and dies before it can keep the answer.
      const forgetful: IdempotencyStore = { ...answers, finish: async () => Promise.reject(new Error('died')) }
      await using second = await served(core, { over: 'tcp', answers: forgetful, principals })
      const headers = { 'idempotency-key': 'k' }
      expect((await ask(second, 'POST', '/api/workspaces', { json: { id: 'made/one' }, headers })).status).toBe(500)
      expect(await created()).toBe(1)
      await core.call('destroy', { id: 'made/one' })
      expect((await make1('k')).json['code']).toBe('idempotency_conflict')
      expect(await created()).toBe(1)
    })
  })
})
