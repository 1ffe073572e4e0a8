import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Operation } from '../../src/api/operation.ts'
import { collect } from '../support/collect.ts'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { admin, ask, held, type Answer } from './ask.ts'
import { askFor, sampleInput, table } from './samples.ts'

/** A token for one workspace, on every address of another: the answers are those of a workspace that is not there. */

const core = memoryCore().manager
const token = 'of-mine'
const nobody = { id: 'ws_7zzzzzzzzzzzzzzzzzzzzzzzzz', name: 'nobody/absent' }
let door: Served
let mine: { id: string; name: string }
let theirs: { id: string; name: string }
let theirSnapshot: string

beforeAll(async () => {
  const make = async (name: string) => {
    const { id } = await core.call('create', { id: name })
    await core.call('fs write', { id, path: 'work/file', content: `of ${name}`, parents: true })
    return { id, name }
  }
  mine = await make('mine/one')
  theirs = await make('theirs/one')
  theirSnapshot = (await core.call('snapshot', { id: theirs.id, label: 'kept' })).id
  await core.call('env set', { id: theirs.id, env: { THEIRS: 'of theirs' } })
  await collect(core.stream('run', { id: theirs.id, argv: ['true'] }))
  door = await served(core, { over: 'tcp', principals: { admin, [token]: held(mine.id, 'made/*') } })
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  await core[Symbol.asyncDispose]()
})

const cases = table.flatMap((operation) =>
  Object.entries(operation.names ?? {}).map(([field, kind]) => ({ operation, field, kind, name: operation.name })),
)

/** What an answer says, without what the caller has said. */
const said = ({ status, text, headers }: Answer, ref: string): unknown => ({
  status,
  type: headers['content-type'],
  body: text.replaceAll(ref, 'REF').replaceAll(/"request_id":"[^"]*"/g, ''),
})

async function refused(operation: Operation, field: string, ref: string): Promise<Answer> {
  const { names = {} } = operation
  const others = Object.fromEntries(
    Object.entries(names).map(([one, kind]) => [one, kind === 'new' ? 'made/new' : mine.id]),
  )
  return askFor(door, operation, sampleInput(operation, { ...others, [field]: ref }), token)
}

describe('every operation that names a workspace', () => {
  test('is looked at here', () => expect(cases.length).toBeGreaterThan(50))

  test.each(cases)('$name, $field', async ({ operation, field, kind }) => {
    const before = await stateOfTheirs()
    for (const way of ['id', 'name'] as const) {
      const [other, none] = [theirs[way], nobody[way]]
      const [answer, unknown] = [await refused(operation, field, other), await refused(operation, field, none)]
      expect(said(answer, other)).toEqual(said(unknown, none))
      if (operation.scope === 'admin' || (kind === 'new' && way === 'name')) expect(answer.status).toBe(403)
      else if (operation.name === 'exists') expect(answer.json).toEqual({ exists: false })
      else expect(answer.status).toBe(404)
    }
    expect(await stateOfTheirs()).toEqual(before)
  })
})

async function stateOfTheirs(): Promise<unknown> {
  const { updated_at, ...view } = await core.call('show', { id: theirs.id })
  const log = await collect(core.stream('events', { workspace: theirs.id }))
  return { ...view, updated_at, events: log.length, files: await core.call('fs list', { id: theirs.id, path: 'work' }) }
}

test('what belongs to another workspace is not reached through one of its own', async () => {
  const run = (await core.call('runs', { id: theirs.id }))[0]?.run ?? ''
  const post = (path: string, json: object): Promise<Answer> =>
    ask(door, 'POST', `/api/workspaces/${mine.id}/${path}`, { token, json })
  const at = theirSnapshot
  const answers = await Promise.all([
    post('restore', { snapshot: at }),
    post('restore', { snapshot: `${theirs.id}@${at}` }),
    post('restore', { snapshot: at, paths: ['work/file'] }),
    post('fork', { to: ['made/stolen'], at }),
    post('branches', { name: 'stolen', at }),
    post(`snapshots/${at}/label`, { label: 'stolen' }),
    ask(door, 'DELETE', `/api/workspaces/${mine.id}/snapshots?snapshots=${at}`, { token }),
    ask(door, 'GET', `/api/workspaces/${mine.id}/logs?run=${run}`, { token }),
    ask(door, 'GET', `/api/diff?from=${at}&text=true`, { token }),
    ask(door, 'GET', `/api/diff?from=${mine.id}&to=${at}&text=true`, { token }),
    ask(door, 'GET', `/api/diff?from=${mine.id}@${at}&text=true`, { token }),
    ask(door, 'GET', `/api/diff?from=${mine.id}&to=${mine.id}@${at}&text=true`, { token }),
    ask(door, 'POST', '/api/workspaces', { token, json: { id: 'made/from', from_workspace: mine.id, at } }),
    ask(door, 'GET', `/api/workspaces/${mine.id}/files/content?path=../../theirs/one/work/file`, { token }),
  ])
  for (const [i, { status, text }] of answers.entries()) {
    expect({ i, status }).toEqual({ i, status: expect.toBeOneOf([400, 403, 404]) as number })
    expect(text).not.toContain('of theirs')
  }
  expect(Buffer.from(await core.call('fs read', { id: mine.id, path: 'work/file' })).toString()).toBe('of mine/one')
  expect(await core.call('snapshots', { id: theirs.id })).toHaveLength(1)
})

test('lists, runs and the log hold nothing of another', async () => {
  const get = async (path: string): Promise<string> => (await ask(door, 'GET', path, { token })).text
  await core.call('label', { id: mine.id, labels: { seen: 'yes' } })
  for (const path of [
    '/api/workspaces',
    '/api/workspaces?all=true&trashed=true',
    '/api/workspaces?task=theirs',
    '/api/runs',
    '/api/events',
    '/api/events?task=theirs',
    '/api/events?limit=1000',
    '/api/templates',
  ]) {
    const text = await get(path)
    expect(text, `on ${path}`).not.toMatch(/theirs/)
    expect(text).not.toContain(theirs.id)
  }
  expect(await get('/api/workspaces')).toContain(mine.id)
  const events = (await get('/api/events?limit=2')).trim().split('\n')
  expect(events).toHaveLength(2)
  expect(events.every((line) => line.includes(mine.id))).toBe(true)
})

test('a token for names sees the log of workspaces of these names', async () => {
  await using other = await served(core, { over: 'tcp', principals: { admin, names: held('theirs/*') } })
  const { text } = await ask(other, 'GET', '/api/events', { token: 'names' })
  expect(text).toContain(theirs.id)
  expect(text).not.toContain(mine.id)
})

test('what is about all workspaces, or about the machine, is not for such a token', async () => {
  for (const operation of table.filter((one) => one.names === undefined || one.scope === 'admin')) {
    if (['list', 'runs', 'events', 'template list', 'template show'].includes(operation.name)) continue
    const { status } = await askFor(door, operation, sampleInput(operation, { id: mine.id, of: mine.id }), token)
    expect({ name: operation.name, status }).toEqual({ name: operation.name, status: 403 })
  }
  expect((await ask(door, 'GET', '/metrics', { token })).status).toBe(403)
  expect((await ask(door, 'POST', '/api/exec', { token, json: { all: '*', argv: ['true'] } })).status).toBe(403)
  expect((await ask(door, 'POST', '/api/exec', { token, json: { argv: ['true'] } })).status).toBe(403)
})
