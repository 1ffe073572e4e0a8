/** A field that nobody knows is refused at every depth of an input, not dropped: every object in it names its fields. */
import { expect, test } from 'vitest'
import { parse } from '../../src/api/parse.ts'
import { json, list, nullable, object, optional, pairs, string, type JsonSchema } from '../../src/api/schema.ts'
import { operations } from '../../src/api/table.ts'
import { toolsFor } from '../../src/mcp/tools.ts'

/** Fields that hold whatever the caller likes, or are ignored on purpose. */
const free = [
  'config.task_spec',
  'config.context',
  'config.run',
  'config.task_id',
  'config.agent_id',
  'config.workspace_path',
  'config.created_at',
  'meta',
]

/** Paths of fields that take objects with any fields. A map from names to texts is none of them. */
function openFields(schema: JsonSchema, path = ''): string[] {
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`)
  const { anyOf, items, properties = {}, additionalProperties: others } = schema
  if (anyOf !== undefined) return anyOf.flatMap((choice) => openFields(choice, path))
  if (items !== undefined) return openFields(items, `${path}[]`)
  if (schema.type === undefined) return [path]
  if (schema.type !== 'object') return []
  if (typeof others === 'object') return openFields(others, below('*'))
  const inner = Object.entries(properties).flatMap(([key, property]) => openFields(property, below(key)))
  return others === false ? inner : [path, ...inner]
}

test.each(operations.map((operation) => [operation.name, operation.input] as const))('%s', (_, input) => {
  expect(openFields(input).filter((path) => !free.includes(path))).toEqual([])
})

test.each([...toolsFor(), ...toolsFor('ws_1')].map((tool) => [tool.name, tool.input] as const))(
  'the tool %s',
  (_, input) => {
    expect(openFields(input).filter((path) => !free.includes(path))).toEqual([])
  },
)

test('each of the free fields exists', () => {
  const open = new Set(operations.flatMap(({ input }) => openFields(input)))
  expect([...open].toSorted()).toEqual(free.toSorted())
})

test('an open object is found at any depth', () => {
  const open = { ...object({ a: string('') }), additionalProperties: true }
  const input = object({ x: optional(nullable(object({ y: list(open) }))), z: json(''), fine: pairs('') })
  expect(openFields(input)).toEqual(['x.y[]', 'z'])
})

test('the nearest known field is told', () => {
  const create = operations.find(({ name }) => name === 'create') as (typeof operations)[number]
  const config = { git_config: { user_nam: 'me' } }
  expect(() => parse(create.input, { id: 'a', config })).toThrow(
    expect.objectContaining({
      code: 'invalid_input',
      message: 'There is no field config.git_config.user_nam',
      hint: 'Did you mean user_name?',
    }) as Error,
  )
})
