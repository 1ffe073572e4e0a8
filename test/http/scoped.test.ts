import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Principal } from '../../src/access/principal.ts'
import { openHome, type OpenedHome } from '../../src/aw.ts'
import { collect } from '../support/collect.ts'
import { served, type Served } from '../support/http-manager.ts'
import { admin, ask, type Answer } from './ask.ts'
import { askFor, sampleInput, table } from './samples.ts'

/**
 * A home as it is, and a token for one of its workspaces: every operation is called, some so that they work and some so
 * that they fail. No answer tells where anything is on the machine, or a secret.
 */

const root = mkdtempSync(join(tmpdir(), 'aw-scoped-'))
const [home, base, storage, source] = ['home', 'trees', 'store', 'a-source'].map((name) => join(root, name)) as [
  string,
  string,
  string,
  string,
]
const places = { home, basePath: base, storageRoot: storage }
const secret = 'hunter2-is-the-secret'
let opened: OpenedHome
let door: Served
let token: string
let mine: { id: string; name: string }
const principals: Record<string, Principal> = { admin }

beforeAll(async () => {
  mkdirSync(source)
  writeFileSync(join(source, 'README.md'), 'read me')
  opened = await openHome({
    home,
    env: {},
    set: { 'workspaces.base_path': base, 'storage.root': storage, 'sandbox.isolation': 'none' },
  })
  const { manager, tokens } = opened
  const name = 'mine/one'
  const { id } = await manager.call('create', { id: name, from: { folder: source } })
  mine = { id, name }
  await manager.call('create', { id: 'theirs/one', from: { folder: source } })
  await manager.call('template create', { name: 'thing', from: { folder: source } })
  await manager.call('env set', { id, secret: 'A_SECRET', value: secret })
  await manager.call('env set', { id: 'theirs/one', env: { THEIRS: secret } })
  const scopes = ['read', 'fs:read', 'fs:write', 'exec', 'env', 'run', 'snapshot', 'workspace'] as const
  const made = await manager.call('token create', { scopes: [...scopes], workspaces: [id, 'made/*'] })
  token = made.token
  const known = await tokens.find(token)
  if (known === undefined) throw new Error('The token is not known')
  principals[token] = { actor: `token:${known.id}`, scopes: known.scopes, workspaces: known.workspaces }
  door = await served(manager, { over: 'tcp', principals, places, isolation: 'none' })
})
afterAll(async () => {
  await door?.[Symbol.asyncDispose]()
  await opened?.manager[Symbol.asyncDispose]()
  rmSync(root, { recursive: true, force: true })
})

/** All that was ever answered to the token. */
const answers: { what: string; answer: Answer }[] = []

function assertSilent(what: string, { text, headers }: Answer): void {
  const all = `${text}\n${JSON.stringify(headers)}`
  for (const told of [root, home, base, storage, source, token, secret, encodeURIComponent(root)])
    expect(all.includes(told), `${what} tells ${told}: ${all.slice(0, 2000)}`).toBe(false)
}

const call = async (name: string, input: object): Promise<Answer> => {
  const operation = table.find((one) => one.name === name)
  if (operation === undefined) throw new Error(`There is no ${name}`)
  const answer = await askFor(door, operation, input, token)
  answers.push({ what: `${name} ${JSON.stringify(input)}`, answer })
  return answer
}

const refs = (): Record<string, string> => ({ id: mine.id, workspace: mine.id, from: mine.id, of: mine.id })

describe('every operation', () => {
  test('in order, as far as it works', async () => {
    const { id } = mine
    const steps: [string, object, number][] = [
      ['fs write', { id, path: 'work/file', content: 'content', parents: true }, 200],
      ['snapshot', { id, label: 'good' }, 201],
      ['create', { id: 'made/new' }, 201],
      ['create', { id: 'made/of-template', template: 'thing' }, 201],
      ['fork', { id, to: ['made/forked'] }, 201],
      ['env set', { id, env: { A_NAME: 'value' } }, 200],
      ['env list', { id }, 200],
      ['exec', { id, argv: ['sh', '-c', 'echo $A_NAME; id -u; cat /proc/self/status | grep -i seccomp:'] }, 200],
      ['start', { id }, 200],
      ['exec', { id, argv: ['true'] }, 200],
      ['stop', { id }, 200],
      ['run', { id, argv: ['echo', 'hello'] }, 200],
      ['reset', { id: 'made/new' }, 200],
      ['destroy', { id: 'made/new' }, 200],
      ['undelete', { id: 'made/new' }, 200],
      ['rename', { id: 'made/new', to: 'made/renamed' }, 200],
      ['fs write', { id, path: 'work/file', content: 'other' }, 200],
      ['restore', { id, snapshot: 'good' }, 200],
      ['undo', { id }, 200],
      ['diff', { from: `${id}@good`, text: true }, 200],
      ['template show', { name: 'thing' }, 200],
    ]
    for (const [name, input, status] of steps) {
      const answer = await call(name, input)
      expect({ name, status: answer.status, text: answer.text }).toEqual({ name, status, text: answer.text })
    }
    for (const operation of table) await call(operation.name, sampleInput(operation, refs()))
    const good = answers.filter(({ answer }) => answer.status < 300)
    expect(good.length).toBeGreaterThan(50)
    for (const { what, answer } of answers) assertSilent(what, answer)
  })

  test('with what it does not like', async () => {
    const before = answers.length
    rmSync(source, { recursive: true })
    const odd = [
      '../../etc/passwd',
      `${home}/log`,
      `${base}/theirs/one/work`,
      '/etc/shadow',
      'absent',
      source,
      '\0',
      '',
    ]
    for (const operation of table) {
      const { properties = {} } = operation.input
      for (const [i, value] of odd.entries()) {
        const input = sampleInput(operation, refs())
        const fields = Object.keys(properties).filter((field) => typeof input[field] === 'string' || i % 2 === 0)
        const field = fields.filter((one) => !['follow', 'all', 'timeout_ms'].includes(one))[i % (fields.length || 1)]
        if (field === undefined) continue
        await call(operation.name, { ...input, [field]: properties[field]?.type === 'array' ? [value] : value })
      }
    }
    // What begins anew from a folder that is gone.
    const reset = await call('reset', { id: mine.id })
    expect(reset.status).toBeGreaterThanOrEqual(400)
    for (const { what, answer } of answers.slice(before)) {
      // What the caller has said itself may be said again.
      const told = [root, source].some((path) => what.includes(path))
      if (!told) assertSilent(what, answer)
      expect(answer.status, `on ${what}`).not.toBe(500)
    }
    assertSilent('reset', reset)
  })
})

describe('with sandbox.isolation = none', () => {
  const at = (path: string): string => `/api/workspaces/${mine.id}/${path}`
  const post = (path: string, json: object): Promise<Answer> => ask(door, 'POST', at(path), { token, json })

  test('a command of a token runs behind walls all the same', async () => {
    const show = { argv: ['sh', '-c', `cat ${home}/aw.toml /etc/shadow; ls ${base}/theirs; echo $THEIRS; hostname`] }
    const { text, status } = await post('exec', show)
    expect(status).toBe(200)
    expect(text).toContain('"isolation":"namespace"')
    expect(text).not.toContain('"isolation":"none"')
    const items = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; data?: string })
    const said = items.map(({ data }) => Buffer.from(data ?? '', 'base64').toString()).join('')
    expect(said).toContain('No such file')
    expect(said).not.toContain(secret)
    expect(said).not.toContain('root:')
  })

  test('nobody chooses their own walls, network, limits or areas, and weaker ones are refused', async () => {
    for (const wish of [
      { isolation: 'none' },
      { isolation: 'guarded' },
      { isolation: 'namespace' },
      { network: 'host' },
      { allow: ['example.com'] },
      { shared: ['area'] },
      { memory_mb: 0 },
      { processes: 100_000 },
      { file_size_mb: 0 },
      { agent: 'claude' },
    ]) {
      expect((await post('start', wish)).status, `on ${JSON.stringify(wish)}`).toBe(403)
      expect((await post('exec', { argv: ['true'], ...wish })).status, `on ${JSON.stringify(wish)}`).toBe(403)
      const run = await ask(door, 'POST', '/api/runs', { token, json: { id: mine.id, argv: ['true'], ...wish } })
      expect(run.status, `on ${JSON.stringify(wish)}`).toBe(403)
    }
    for (const config of [{ max_size_mb: 0 }, { allowed_operations: ['exec'] }])
      expect((await ask(door, 'POST', '/api/workspaces', { token, json: { id: 'made/c', config } })).status).toBe(403)
  })

  test('a sandbox without walls that the user has started is not for a token', async () => {
    const { manager } = opened
    await manager.call('start', { id: mine.id, isolation: 'none' })
    try {
      expect((await post('exec', { argv: ['id'] })).status).toBe(403)
      expect((await ask(door, 'GET', at('ports/80'), { token })).status).toBe(403)
      const run = await ask(door, 'POST', '/api/runs', { token, json: { id: mine.id, argv: ['id'] } })
      expect(run.status).toBe(403)
      // Nor is it what a new workspace begins with.
      const json = { id: 'made/beside', from_workspace: mine.id, argv: ['true'] }
      const other = await ask(door, 'POST', '/api/runs', { token, json })
      expect(other.text).not.toContain('"isolation":"none"')
    } finally {
      await manager.call('stop', { id: mine.id })
    }
  })
})

test('nothing of the machine, of others or of tokens can be asked for', async () => {
  const json = (path: string, body: object): Promise<Answer> => ask(door, 'POST', path, { token, json: body })
  for (const body of [
    { id: 'made/a', from: { folder: '/etc' } },
    { id: 'made/a', from: { archive: '/etc/passwd' } },
    { id: 'made/a', from: { workspace: 'theirs/one' } },
    { id: 'made/a', from: { git: { url: '/root' } } },
    { id: 'made/a', repo: '/root/x' },
    { id: 'made/a', repo: 'https://example.com/x.git' },
  ])
    expect((await json('/api/workspaces', body)).status, `on ${JSON.stringify(body)}`).toBe(403)
  expect((await json('/api/workspaces', { id: 'others/a' })).status).toBe(403)
  expect((await json('/api/workspaces', { generate: 'x' })).status).toBe(403)
  expect((await json('/api/workspaces', { generate: 'x', from_workspace: mine.id })).status).toBe(403)
  expect((await json(`/api/workspaces/${mine.id}/fork`, {})).status).toBe(403)
  expect((await json(`/api/workspaces/${mine.id}/fork`, { to: ['others/a'] })).status).toBe(403)
  expect((await json('/api/workspaces/made%2Fforked/fork', { count: 2 })).status).toBe(201)
  expect((await json(`/api/workspaces/${mine.id}/purge`, {})).status).toBe(403)
  expect((await ask(door, 'DELETE', '/api/workspaces/made%2Fforked?purge=true', { token })).status).toBe(403)
  expect((await json('/api/tokens', { scopes: ['admin'] })).status).toBe(403)
  expect((await json('/api/tokens', { scopes: ['read'], workspaces: [mine.id] })).status).toBe(403)
  const [{ id } = { id: '' }] = await opened.manager.call('token list', {})
  expect((await json(`/api/tokens/${id}/rotate`, {})).status).toBe(403)
  expect((await ask(door, 'DELETE', `/api/tokens/${id}`, { token })).status).toBe(403)
  for (const path of ['approve', 'approvals', `workspaces/${mine.id}/approve`, `session/workspace/approve`])
    expect([403, 404]).toContain((await json(`/api/${path}`, {})).status)
  // Whom it says it is changes nothing.
  const headers = { 'aw-actor': 'user%3A0' }
  await ask(door, 'POST', `/api/workspaces/${mine.id}/labels`, { token, json: { labels: { by: 'x' } }, headers })
  const last = (await collect(opened.manager.stream('events', { workspace: mine.id }))).at(-1)
  expect(last?.meta).toMatchObject({ actor: principals[token]?.actor })
})

test('a token that is right but for one character is nobody, and no log or event has it', async () => {
  for (let i = 0; i < token.length; i += 6) {
    const wrong = `${token.slice(0, i)}${token[i] === 'x' ? 'y' : 'x'}${token.slice(i + 1)}`
    expect(await opened.tokens.find(wrong)).toBeUndefined()
  }
  expect(await opened.tokens.find(token.slice(0, -1))).toBeUndefined()
  expect(await opened.tokens.find(`${token}x`)).toBeUndefined()
  const log = JSON.stringify(await collect(opened.manager.stream('events', {})))
  for (const text of [log, JSON.stringify(door.logged)]) {
    expect(text).not.toContain(token)
    expect(text).not.toContain(secret)
  }
  expect(log).toContain('token_created')
})
