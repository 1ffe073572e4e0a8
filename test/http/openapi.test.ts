import { expect, test } from 'vitest'
import { openApi } from '../../src/http/openapi.ts'
import { router } from '../../src/http/routes.ts'
import { operations } from '../../src/api/table.ts'
import { table } from './samples.ts'
import { operationsIn, type Document } from './document.ts'

/** The document that the door hands out is OpenAPI 3.1 in its structure, and about what the door does. */

const document = JSON.parse(JSON.stringify(openApi())) as Document
const all = operationsIn(document)

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

test('every route of the table is in it, and nothing else', () => {
  const routes = table.flatMap(({ name, routes }) =>
    routes.map((route) => `${route.replaceAll(/:(\w+)/g, '{$1}')} ${name}`),
  )
  const found = all.map(({ method, path, operation }) => `${method} ${path.slice(4)} ${operation['x-aw-operation']}`)
  expect(found.toSorted()).toEqual(routes.toSorted())
})

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
    expect(Object.keys(responses)).toContain('401')
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
  for (const { method, path, operation } of all) {
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
