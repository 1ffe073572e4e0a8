/** Every operation is where the table says, and the client finds it there. */
import { describe, expect, it } from 'vitest'
import type { Operation } from '../../api/operation.ts'
import type { JsonSchema } from '../../api/schema.ts'
import { operations, type Table } from '../../api/table.ts'
import { requestFor } from '../../client/remote/request.ts'
import { inputOf } from '../input.ts'
import { openApi } from './openapi.ts'
import { router, targetOf } from './routes.ts'

const find = router(operations)
const all: Table = operations

/** Something that fits, with characters that an address has to hold. */
function sample(schema: JsonSchema): unknown {
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0] ?? {})
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.contentEncoding === 'base64') return Buffer.from('é\0bytes')
  if (schema['x-cli'] === 'pairs') return { 'a b': 'c=d&é' }
  if (schema.type === 'array') return [sample(schema.items ?? {}), sample(schema.items ?? {})]
  if (schema.type === 'object')
    return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([key, one]) => [key, sample(one)]))
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 7
  return schema.type === 'boolean' ? true : 'task/a ?&#%é'
}

const fields = ({ input }: Operation, which: 'all' | 'required'): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(input.properties ?? {})
      .filter(([field]) => which === 'all' || input.required?.includes(field))
      .map(([field, schema]) => [field, sample(schema)]),
  )

describe.each(all.map((entry) => [entry.name, entry] as const))('%s', (_, operation) => {
  it.each(['all', 'required'] as const)('with %s of its fields arrives as it was sent', (which) => {
    const input = fields(operation, which)
    const { method, path, body, type } = requestFor(operation, input)
    const { segments = [], query } = targetOf(path)
    const at = find(method, segments.slice(1))
    if (at === undefined || !('found' in at)) throw new Error(`${method} ${path} leads nowhere`)
    expect(at.found.operation).toBe(operation)
    const content = Object.entries(operation.input.properties ?? {}).find(([, one]) => one.contentEncoding === 'base64')
    const sent =
      type === 'application/octet-stream'
        ? { [content?.[0] ?? '']: body }
        : body && (JSON.parse(body as string) as unknown)
    expect(inputOf(at.found, query, sent)).toEqual(input)
  })

  it('is in the OpenAPI document at each of its routes', () => {
    const { paths } = openApi({}) as { paths: Record<string, Record<string, { 'x-aw-operation': string }>> }
    for (const route of operation.routes) {
      const [method = '', path = ''] = route.split(' ')
      const at = paths[`/api${path.replaceAll(/:(\w+)/g, '{$1}')}`]?.[method.toLowerCase()]
      expect(at?.['x-aw-operation']).toBe(operation.name)
    }
  })
})

it('knows no others', () => {
  expect(find('GET', ['nothing'])).toBeUndefined()
  expect(find('GET', [])).toBeUndefined()
  expect(find('PATCH', ['workspaces'])).toEqual({ methods: ['POST', 'GET'] })
  const twice = [...all, { ...(all[0] as Operation), name: 'again' }]
  expect(() => router(twice)).toThrow('is there twice')
})
