import { afterAll, expect, test } from 'vitest'
import { parse } from '../../src/api/parse.ts'
import type { JsonSchema } from '../../src/api/schema.ts'
import { mcpRoutes } from '../../src/daemon/mcp-routes.ts'
import { selfRoutes } from '../../src/daemon/self-routes.ts'
import { router } from '../../src/http/routes/routes.ts'
import { operations } from '../../src/api/table.ts'
import { memoryCore } from '../memory/core.ts'
import { served } from '../support/http-manager.ts'
import { admin, ask, held } from './ask.ts'
import { operationsIn, type Addressed, type Document, type DocumentOperation } from './document.ts'
import { table } from './samples.ts'

/** The document that the door hands out is OpenAPI 3.1 in its structure, and about what the door does. */

const core = memoryCore().manager
const mcp = mcpRoutes('1.2.3')
const facts = { pid: 1, version: '1.2.3', started_at: '2026-01-01T00:00:00.000Z', socket: '/none', listen: null }
let stops = 0
// As the daemon has it: with what is there beside the operations.
const door = await served(core, {
  over: 'tcp',
  more: { ...mcp.routes, ...selfRoutes(facts, () => stops++) },
  principals: { admin, agent: held('a/main') },
})
afterAll(async () => {
  await door[Symbol.asyncDispose]()
  await mcp[Symbol.asyncDispose]()
  await core[Symbol.asyncDispose]()
})
const document = (await ask(door, 'GET', '/api/openapi.json')).json as unknown as Document
const all = operationsIn(document)
const isSession = ({ path }: Addressed): boolean => path.startsWith('/api/session/')
const ofTable = all.filter((one) => one.operation['x-aw-operation'] !== undefined && !isSession(one))
const ofDaemon = all.filter((one) => one.operation['x-aw-operation'] === undefined)

function nodes(value: unknown, path = '#'): { path: string; value: Record<string, unknown> }[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.entries(value).flatMap(([key, one]) => nodes(one, `${path}/${key}`))
  return Array.isArray(value) ? inner : [{ path, value: value as Record<string, unknown> }, ...inner]
}

test('it says what it is', () => {
  expect(document.openapi).toMatch(/^3\.1\.\d+$/)
  expect(Object.keys(document.info).toSorted()).toEqual(['description', 'title', 'version'])
  const known = ['openapi', 'info', 'servers', 'security', 'paths', 'components', 'tags']
  expect(Object.keys(document).filter((key) => !known.includes(key))).toEqual([])
})

test('every reference leads somewhere', () => {
  const references = nodes(document).flatMap(({ value }) => (typeof value['$ref'] === 'string' ? [value['$ref']] : []))
  expect(references.length).toBeGreaterThan(100)
  for (const reference of new Set(references)) {
    expect(reference).toMatch(/^#\//)
    const words = reference.slice(2).split('/')
    const found = words.reduce<unknown>((at, word) => (at as Record<string, unknown> | undefined)?.[word], document)
    expect(found, `on ${reference}`).toBeDefined()
  }
})

test('every route of the table is in it', () => {
  const routes = table.flatMap(({ name, routes }) =>
    routes.map((route) => `${route.replaceAll(/:(\w+)/g, '{$1}')} ${name}`),
  )
  const found = ofTable.map(
    ({ method, path, operation }) => `${method} ${path.slice(4)} ${operation['x-aw-operation']}`,
  )
  expect(found.toSorted()).toEqual(routes.toSorted())
})

test('what the daemon has beside the table is in it, is there, and answers as it says', async () => {
  expect(ofDaemon.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
    'DELETE /api/requests/{id}',
    'DELETE /mcp',
    'GET /api/daemon',
    'GET /api/health',
    'GET /api/openapi.json',
    'GET /api/ready',
    'GET /mcp',
    'GET /metrics',
    'POST /api/daemon/stop',
    'POST /mcp',
  ])
  for (const { method, path, operation } of ofDaemon) {
    const isOpen = operation.security?.length === 0
    expect((await ask(door, method, path, { token: '' })).status === 401, `on ${method} ${path}`).toBe(!isOpen)
    const message = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const answer = await ask(door, method, path, path === '/mcp' && method === 'POST' ? { json: message } : {})
    expect(Object.keys(operation.responses), `on ${method} ${path}`).toContain(String(answer.status))
    const told = operation.responses[answer.status] as { content?: Record<string, { schema: JsonSchema }> }
    const type = answer.headers['content-type']?.split(';')[0] ?? ''
    expect(Object.keys(told.content ?? {}), `on ${method} ${path}`).toContain(type)
    const schema = told.content?.[type]?.schema ?? {}
    if (type === 'application/json') expect(() => parse(schema, answer.json)).not.toThrow()
  }
  expect(stops).toBe(1)
})

test('the workspace of a token is in it, and answers as it says', async () => {
  await core.call('create', { id: 'a' })
  const found = all.filter(isSession)
  expect(found.map(({ method, path }) => `${method} ${path.slice(22)}`)).toEqual(
    expect.arrayContaining(['GET ', 'GET /snapshots', 'POST /snapshots', 'POST /restore', 'POST /branch']),
  )
  for (const { method, path, operation } of found) {
    const name = operation['x-aw-operation']
    expect([...operation.parameters.map((one) => one.name), ...bodyFields(operation)]).not.toContain('id')
    const json = { restore: { snapshot: 'head' }, branch: { name: 'side' } }[String(name)]
    const answer = await ask(door, method, path, { token: 'agent', ...(json && { json }) })
    expect(Object.keys(operation.responses), `on ${method} ${path}: ${answer.text}`).toContain(String(answer.status))
    const output = table.find((one) => one.name === name)?.output ?? {}
    if (answer.status < 300) expect(() => parse(output, answer.json)).not.toThrow()
    expect((await ask(door, method, path, json ? { json } : {})).status).toBe(400)
  }
})

const bodyFields = ({ requestBody }: DocumentOperation): string[] =>
  Object.keys(requestBody?.content['application/json']?.schema?.properties ?? {})

test('each operation has a name of its own, its path fields, and answers', () => {
  const ids = all.map(({ operation }) => operation.operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const { path, method, operation } of all) {
    const { parameters, requestBody, responses } = operation
    const inPath = parameters.filter((one) => one.in === 'path')
    expect(inPath.map(({ name }) => name).toSorted()).toEqual(
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).toSorted(),
    )
    expect(inPath.every((one) => one.required === true)).toBe(true)
    const names = parameters.map((one) => `${one.in} ${one.name}`)
    expect(new Set(names).size).toBe(names.length)
    for (const one of parameters) expect(typeof one.schema).toBe('object')
    if (method === 'GET' || method === 'DELETE') expect(requestBody).toBeUndefined()
    if (requestBody !== undefined) expect(Object.keys(requestBody.content).length).toBeGreaterThan(0)
    expect(Object.keys(responses).some((status) => /^2\d\d$/.test(status))).toBe(true)
    expect(Object.keys(responses).every((status) => /^[245]\d\d$/.test(status))).toBe(true)
    expect(Object.keys(responses).includes('401')).toBe(operation.security?.length !== 0)
  }
})

test('every schema is one that others understand', () => {
  const types = ['string', 'integer', 'number', 'boolean', 'array', 'object', 'null']
  const keywords =
    'type description enum pattern minimum maximum maxLength default items properties required additionalProperties anyOf contentEncoding $ref'.split(
      ' ',
    )
  const look = (schema: Record<string, unknown>, at: string): void => {
    for (const key of Object.keys(schema)) expect(keywords, `on ${at}`).toContain(key)
    for (const type of [schema['type'] ?? []].flat()) expect(types, `on ${at}`).toContain(type)
    if (typeof schema['pattern'] === 'string') expect(() => new RegExp(schema['pattern'] as string, 'u')).not.toThrow()
    const properties = (schema['properties'] ?? {}) as Record<string, Record<string, unknown>>
    for (const [name, one] of Object.entries(properties)) look(one, `${at}.${name}`)
    for (const name of (schema['required'] ?? []) as string[])
      expect(Object.keys(properties), `on ${at}`).toContain(name)
    if (schema['items'] !== undefined) look(schema['items'] as Record<string, unknown>, `${at}[]`)
    for (const one of (schema['anyOf'] ?? []) as Record<string, unknown>[]) look(one, `${at}|`)
    if (typeof schema['additionalProperties'] === 'object')
      look(schema['additionalProperties'] as Record<string, unknown>, `${at}{}`)
  }
  const schemas = nodes(document).filter(({ path }) => path.endsWith('/schema'))
  expect(schemas.length).toBeGreaterThan(200)
  for (const { path, value } of schemas) look(value, path)
})

test('its addresses lead to its operations', () => {
  const find = router(operations)
  for (const { method, path, operation } of ofTable) {
    const found = find(
      method,
      path
        .slice(5)
        .split('/')
        .map((word) => word.replace(/^\{.*\}$/, 'value')),
    )
    expect(found).toMatchObject({ found: { operation: { name: operation['x-aw-operation'] } } })
  }
})
