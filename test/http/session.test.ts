import { afterEach, expect, test } from 'vitest'
import { memoryCore } from '../memory/core.ts'
import { served, type Served } from '../support/http-manager.ts'
import { admin, ask, held, type Answer } from './ask.ts'

/** The addresses under which an agent finds its own workspace: what they do, and that all that is wrong there is 400. */

const closing: AsyncDisposable[] = []
afterEach(async () => {
  for (const one of closing.splice(0).toReversed()) await one[Symbol.asyncDispose]()
})

async function open() {
  const core = memoryCore({ set: { 'snapshots.max': '100' } }).manager
  const { id } = await core.call('create', { id: 'mine/one' })
  await core.call('create', { id: 'theirs/one' })
  const reader = { ...held(id), actor: 'token:tok_reader', scopes: ['read' as const] }
  const principals = {
    admin,
    agent: held(id),
    named: held('mine/one'),
    many: held('mine/*'),
    two: held(id, 'x'),
    reader,
  }
  const door = await served(core, { over: 'tcp', principals })
  closing.push(core, door)
  const write = (content: string) => core.call('fs write', { id, path: 'work/file', content })
  const read = async (): Promise<string> =>
    Buffer.from(await core.call('fs read', { id, path: 'work/file' })).toString()
  return { core, door, id, write, read }
}

const get = (door: Served, path = '', token = 'agent'): Promise<Answer> =>
  ask(door, 'GET', `/api/session/workspace${path}`, { token })
const post = (door: Served, path: string, json: object, token = 'agent'): Promise<Answer> =>
  ask(door, 'POST', `/api/session/workspace${path}`, { token, json })

test('snapshots are made and listed, a restore brings one back, and a branch goes on from there', async () => {
  const { core, door, id, write, read } = await open()
  await write('first')
  const first = await post(door, '/snapshots', { label: 'good' })
  expect([first.status, first.json['label']]).toEqual([201, 'good'])
  await write('second')
  await post(door, '/snapshots', { label: 'worse' })
  const listed = (await get(door, '/snapshots')).json as unknown as { label: string }[]
  expect(listed.map(({ label }) => label)).toEqual(['good', 'worse'])
  expect(listed).toEqual(await core.call('snapshots', { id }))

  expect((await post(door, '/restore', { snapshot: 'good' })).status).toBe(200)
  expect(await read()).toBe('first')
  const branched = await post(door, '/branch', { name: 'side' })
  expect(branched.status).toBe(200)
  const branches = await core.call('branch', { id })
  expect(branches.branches.map(({ name }) => name)).toContain('side')
  await write('third')
  await post(door, '/snapshots', { label: 'further' })
  expect((await post(door, '/restore', { branch: 'main' })).status).toBe(200)
  expect(await read()).toBe('third')
  expect((await post(door, '/restore', { branch: 'side' })).status).toBe(200)
  expect(await read()).toBe('first')
  expect((await get(door, '/describe')).json).toMatchObject({ branch: 'side' })
  // Nobody else has anything of it.
  expect(await core.call('snapshots', { id: 'theirs/one' })).toEqual([])
})

test('the newest 20 snapshots are listed unless another number is said', async () => {
  const { door, write } = await open()
  const labels = Array.from({ length: 23 }, (_, i) => `s${i}`)
  for (const label of labels) {
    await write(label)
    expect((await post(door, '/snapshots', { label })).text).toContain(label)
  }
  const listed = async (query: string): Promise<string[]> =>
    ((await get(door, `/snapshots${query}`)).json as unknown as { label: string }[]).map(({ label }) => label)
  expect(await listed('')).toEqual(labels.slice(3))
  expect(await listed('?limit=2')).toEqual(labels.slice(21))
  expect(await listed('?limit=100')).toEqual(labels)
})

test('it is the workspace of the token, by its id or its name, and of no other token', async () => {
  const { door, id } = await open()
  for (const token of ['agent', 'named']) expect((await get(door, '', token)).json).toMatchObject({ id })
  for (const token of ['admin', 'many', 'two']) {
    const { status, json } = await get(door, '', token)
    expect([status, json['code']], `on ${token}`).toEqual([400, 'invalid_input'])
  }
  expect((await get(door, '', 'nobody')).status).toBe(401)
  expect((await get(door, '/none')).status).toBe(404)
  expect((await post(door, '/snapshots', {}, 'reader')).status).toBe(403)
})

test('what is wrong with it is 400, with the code that says what', async () => {
  const { core, door, id } = await open()
  const wrong: [string, object, string][] = [
    ['/restore', { snapshot: 'absent' }, 'snapshot_not_found'],
    ['/restore', { branch: 'absent' }, 'snapshot_not_found'],
    ['/branch', { name: '../x' }, 'invalid_name'],
    ['/snapshots', { label: 7 }, 'invalid_input'],
    ['/snapshots', { id: 'theirs/one' }, 'invalid_input'],
    ['/restore', { nothing: true }, 'invalid_input'],
  ]
  for (const [path, json, code] of wrong) {
    const answer = await post(door, path, json)
    expect([answer.status, answer.json['code']], `on ${path} ${JSON.stringify(json)}`).toEqual([400, code])
    expect(answer.headers['content-type']).toBe('application/problem+json')
    expect(answer.json).toMatchObject({ status: 400 })
  }
  expect((await get(door, '/snapshots?limit=0')).status).toBe(400)
  await core.call('destroy', { id })
  for (const path of ['/snapshots', '/branch', '/restore'])
    expect((await post(door, path, { ...(path === '/branch' && { name: 'late' }) })).status, `on ${path}`).toBe(400)
})
