import fc from 'fast-check'
import { expect } from 'vitest'
import { parse } from '../../src/api/parse.ts'
import type { JsonSchema } from '../../src/api/schema.ts'
import { openApi } from '../../src/http/routes/openapi.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { collect } from '../support/collect.ts'
import type { Served } from '../support/http-manager.ts'
import { ask, type Answer } from './ask.ts'
import { operationsIn, type Addressed, type Document } from './document.ts'
import { table } from './samples.ts'

/**
 * Random requests to every address of the document. Most of each is such that it could be accepted; a part is anything
 * at all. Whatever is sent, the answer comes, it is none that nobody has thought of, and what it says is in the log.
 */

interface Part {
  readonly in: string
  readonly name: string
  readonly value: unknown
}

export interface RandomRequest {
  /** Method and path, as the document has them. */
  readonly route: string
  readonly parts: readonly Part[]
}

/** Values with which something can happen. */
const useful: Readonly<Record<string, readonly unknown[]>> = {
  id: ['a', 'b/x', 'c', 'd'],
  workspace: ['a', 'b/x'],
  from_workspace: ['a'],
  to: ['d', 'work/g', 'e/y'],
  as: ['d'],
  from: ['work/f', 'a'],
  of: ['a'],
  path: ['work/f', 'work', 'work/new', 'work/d/e'],
  paths: [['work/f']],
  snapshot: ['good', 'head', 'base'],
  at: ['good', 'head'],
  snapshots: [['good']],
  branch: ['main'],
  label: ['good', 'better'],
  lease: ['ls_00000000000000000000000000'],
  name: ['one', 'two', 'side'],
  names: [['A_NAME']],
  env: [{ A_NAME: 'value' }],
  labels: [{ key: 'value' }],
  remove: [['key']],
  holder: ['me'],
  argv: [['true']],
  content: ['Y29udGVudA=='],
  text: ['in /workspace'],
  duration: ['1h'],
  ttl: ['1h'],
  older_than: ['1h'],
  newer_than: ['1h'],
  expires: ['1h'],
  grace: ['1h'],
  size: ['100MB', 100],
  type: [['workspace_created']],
  scopes: [['read']],
  timeout_ms: [10],
  grace_ms: [10],
  ttl_ms: [1000],
  mode: [0o644],
  ids: [['a']],
  trash: ['one.1'],
  run: ['1'],
  policy: ['keep'],
}

/** They would wait for what never comes. */
const never = ['follow', 'from_now', 'cwd']

const anything = fc.oneof(
  fc.string({ maxLength: 30, unit: 'binary' }),
  fc.constantFrom(
    '',
    '..',
    '../../etc/passwd',
    '/etc/passwd',
    '%00',
    '\0',
    '__proto__',
    'constructor',
    'a'.repeat(5000),
  ),
  fc.constantFrom(
    'ws_7zzzzzzzzzzzzzzzzzzzzzzzzz',
    '-1',
    '1e999',
    'null',
    '[]',
    '{}',
    '\u202e',
    '💥',
    '--help',
    '$(id)',
  ),
  fc.integer(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.string({ maxLength: 5 }), { maxLength: 3 }),
  fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 5 }), { maxKeys: 3 }),
  fc.jsonValue({ maxDepth: 3 }),
)

function tame(name: string, schema: JsonSchema): fc.Arbitrary<unknown> {
  const isText = schema.type === 'string'
  const known = (useful[name] ?? []).filter((one) => !isText || typeof one === 'string')
  if (schema.type === 'array' && known.length > 0) return fc.constantFrom(...known.map((one) => [one].flat()))
  if (known.length > 0) return fc.constantFrom(...known)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => tame(name, one)))
  const { minimum = 0, maximum = 50 } = schema
  if (schema.type === 'integer') return fc.integer({ min: minimum, max: Math.max(minimum, Math.min(maximum, 50)) })
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'array') return fc.constant(['x'])
  if (schema.type === 'object') return fc.constant({ key: 'value' })
  return fc.constantFrom('x', 'work/f')
}

function requestFor(at: Addressed): fc.Arbitrary<RandomRequest> {
  const { parameters, requestBody } = at.operation
  const body = requestBody?.content['application/json']?.schema
  const fields = [
    ...parameters.filter((one) => one.in !== 'header'),
    ...Object.entries(body?.properties ?? {}).map(([name, schema]) => {
      return { name, in: 'body', schema, required: body?.required?.includes(name) === true }
    }),
  ].filter(({ name }) => !never.includes(name))
  const parts = fields.map(({ name, in: place, schema, required }) => {
    const value = fc.oneof({ weight: 40, arbitrary: tame(name, schema) }, { weight: 1, arbitrary: anything })
    const part = value.map((one): Part[] => [{ in: place, name, value: one }])
    const isMeant = ['argv', 'env', 'labels', 'duration', 'size', 'name'].includes(name)
    const left = fc.constant<Part[]>([])
    if (required === true) return fc.oneof({ weight: 60, arbitrary: part }, { weight: 1, arbitrary: left })
    return fc.oneof({ weight: isMeant ? 8 : 1, arbitrary: part }, { weight: isMeant ? 2 : 14, arbitrary: left })
  })
  const more = fc.oneof(
    { weight: 30, arbitrary: fc.constant<Part[]>([]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.string({ maxLength: 8 }), anything, fc.constantFrom('query', 'body'))
        .map(([name, value, place]): Part[] => [{ in: place, name, value }]),
    },
  )
  return fc.tuple(...parts, more).map((all) => ({ route: routeOf(at), parts: all.flat() }))
}

/** What they take away comes less often than what they make. */
const rare = ['shutdown', 'gc', 'destroy', 'reset', 'purge', 'bases remove', 'recover', 'snapshot remove']

const routeOf = ({ method, path }: Addressed): string => `${method} ${path}`
/** Without what the daemon has beside the operations; its answers are looked at one by one. */
const addresses = operationsIn(JSON.parse(JSON.stringify(openApi({}))) as Document)
const nameOf = ({ operation }: Addressed): string => operation['x-aw-operation'] ?? operation.operationId
const byRoute = new Map(addresses.map((at) => [routeOf(at), at]))

export function randomRequests(maxLength: number): fc.Arbitrary<RandomRequest[]> {
  const all = addresses.map((at) => ({
    weight: rare.includes(nameOf(at)) ? 1 : 4,
    arbitrary: requestFor(at),
  }))
  return fc.array(fc.oneof(...all), { minLength: 10, maxLength })
}

function send(door: Served, { route, parts }: RandomRequest, headers: Record<string, string>): Promise<Answer> {
  const at = byRoute.get(route) as Addressed
  const text = (value: unknown): string =>
    typeof value === 'string' ? value.toWellFormed() : (JSON.stringify(value) ?? '')
  const of = (place: string): Part[] => parts.filter((part) => part.in === place)
  let { path } = at
  for (const { name, value } of of('path')) path = path.replace(`{${name}}`, encodeURIComponent(text(value)) || '%20')
  const query = new URLSearchParams()
  for (const { name, value } of of('query')) {
    if (Array.isArray(value)) for (const one of value) query.append(name, text(one))
    else if (typeof value === 'object' && value !== null)
      for (const [key, one] of Object.entries(value)) query.append(name, `${key}=${text(one)}`)
    else query.append(name, text(value))
  }
  const content = at.operation.requestBody?.content ?? {}
  const isJson = 'application/json' in content
  const isBytes = !isJson && 'application/octet-stream' in content
  // There, workspaces are not named: they are the token's.
  const token = path.startsWith('/api/session/') ? 'session' : 'admin'
  return ask(door, at.method, `${path}${query.size > 0 ? `?${query.toString()}` : ''}`, {
    token,
    ...(isJson && { json: Object.fromEntries(of('body').map(({ name, value }) => [name, value])) }),
    ...(isBytes && { bytes: 'content' }),
    headers: { ...(isBytes && { 'content-type': 'application/octet-stream' }), ...headers },
  })
}

/** What has no event of its own: files, whose log is the workspace itself; what is written elsewhere; what only waits or looks. */
const silent = /^(fs |export$|connect$|wait$|agents test$|audit seal$)/

/** What may find that there is nothing to do: it is so already, or there is nothing of the kind. */
const content = [
  'stop',
  'ensure',
  'lease release',
  'shutdown',
  'gc',
  'recover',
  'branch',
  'limit',
  'ttl',
  'rename',
  'destroy',
  'purge',
]

export interface Tally {
  sent: number
  accepted: number
  /** Accepted writes that are in the log. */
  logged: number
  readonly names: Set<string>
}

/** Sends them one after the other, and looks at each answer. */
export async function fuzz(door: Served, core: Manager, requests: readonly RandomRequest[], tally: Tally) {
  for (const request of requests) {
    const at = byRoute.get(request.route) as Addressed
    const name = nameOf(at)
    const correlation = `fuzz-${++tally.sent}`
    const before = await place(core)
    const answer = await send(door, request, { 'aw-correlation-id': correlation })
    const what = `${at.method} ${at.path} ${JSON.stringify(request.parts).slice(0, 600)}: ${answer.text.slice(0, 600)}`
    expect(answer.status, `on ${what}`).not.toBe(500)
    const declared = [...Object.keys(at.operation.responses).map(Number), 404, 405, 413, 415, 422]
    expect(declared, `on ${what}`).toContain(answer.status)
    if (answer.status >= 400) {
      expect(answer.headers['content-type'], `on ${what}`).toBe('application/problem+json')
      continue
    }
    tally.accepted += 1
    tally.names.add(name)
    checkAnswer(name, answer, what)
    if (at.operation['x-aw-kind'] === 'read') expect(await place(core), `${what} is a read, and wrote`).toBe(before)
    else if (!silent.test(name)) await checkLogged(core, { name, correlation, before }, tally, what)
  }
}

const place = async (core: Manager): Promise<number> => (await collect(core.stream('events', {}))).at(-1)?.position ?? 0

interface Sent {
  readonly name: string
  readonly correlation: string
  /** Where the log ended then. */
  readonly before: number
}

/** Everything that was written since is of this request; it has written something, unless it may be content. */
async function checkLogged(core: Manager, { name, correlation, before }: Sent, tally: Tally, what: string) {
  const since = await collect(core.stream('events', { after: before }))
  expect(new Set(since.map(({ meta }) => (meta as { correlation_id: string }).correlation_id)), `on ${what}`).toEqual(
    new Set(since.length > 0 ? [correlation] : []),
  )
  if (since.length > 0) tally.logged += 1
  else expect(content, `${what} was accepted, and the log says nothing of it`).toContain(name)
}

function checkAnswer(name: string, { headers, text }: Answer, what: string): void {
  const operation = table.find((one) => one.name === name)
  const type = headers['content-type'] ?? ''
  if (operation === undefined || type === 'application/octet-stream') return
  const values = type === 'application/json' ? [text] : text.split('\n').filter((line) => line !== '')
  for (const value of values) {
    const one = JSON.parse(value) as Record<string, unknown>
    if (type !== 'application/json' && 'error' in one && Object.keys(one).length === 1) continue
    expect(() => parse(operation.output, one), `on ${what}`).not.toThrow()
  }
}
