import type { JsonSchema } from '../../src/api/schema.ts'

/** Which fields answers have, and of which types: `.forks[].workspace.id` is a string. */
export type Shape = Map<string, Set<string>>

/** @param schema tells fields from the keys of a record, which are anybody's */
export function shapeOf(schema: JsonSchema, values: readonly unknown[]): Shape {
  const shape: Shape = new Map()
  for (const value of values) add(shape, [schema], value, '')
  return shape
}

function add(shape: Shape, schemas: readonly JsonSchema[], value: unknown, path: string): void {
  const types = shape.get(path) ?? new Set()
  shape.set(path, types.add(typeOf(value)))
  if (Array.isArray(value)) for (const item of value) add(shape, itemsOf(schemas), item, `${path}[]`)
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      const { at, of } = fieldOf(schemas, key)
      if (inner !== undefined) add(shape, of, inner, `${path}${at}`)
    }
}

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'list' : typeof value)

const branchesOf = (schemas: readonly JsonSchema[]): JsonSchema[] =>
  schemas.flatMap((schema) => (schema.anyOf === undefined ? [schema] : branchesOf(schema.anyOf)))

const itemsOf = (schemas: readonly JsonSchema[]): JsonSchema[] =>
  branchesOf(schemas).flatMap(({ items }) => (items === undefined ? [] : [items]))

function fieldOf(schemas: readonly JsonSchema[], key: string): { at: string; of: JsonSchema[] } {
  const branches = branchesOf(schemas)
  const named = branches.flatMap(({ properties = {} }) =>
    Object.hasOwn(properties, key) ? [properties[key] ?? {}] : [],
  )
  if (named.length > 0) return { at: `.${key}`, of: named }
  const others = branches.flatMap(({ additionalProperties: more }) =>
    more === undefined || more === false ? [] : [more === true ? {} : more],
  )
  return others.length > 0 ? { at: '{}', of: others } : { at: `.${key}`, of: [] }
}

/** What the schema of today does not know any more, or knows as something else. */
export function lostInSchema(schema: JsonSchema, values: readonly unknown[]): string[] {
  const lost = new Set<string>()
  const look = (schemas: readonly JsonSchema[], value: unknown, path: string): void => {
    const branches = branchesOf(schemas)
    if (branches.length === 0) return void lost.add(`${path} is gone`)
    if (!branches.some((one) => takes(one, value))) return void lost.add(`${path} is no ${typeOf(value)} any more`)
    if (Array.isArray(value)) {
      const items = itemsOf(branches)
      for (const item of value) if (items.length > 0) look(items, item, `${path}[]`)
    } else if (typeof value === 'object' && value !== null && !branches.some((one) => one.type === undefined)) {
      for (const [key, inner] of Object.entries(value)) {
        const { at, of } = fieldOf(branches, key)
        look(of, inner, `${path}${at}`)
      }
    }
  }
  for (const value of values) look([schema], value, '')
  return [...lost]
}

const names: Readonly<Record<string, string>> = { integer: 'number', array: 'list' }

function takes({ type, contentEncoding, enum: words }: JsonSchema, value: unknown): boolean {
  if (contentEncoding !== undefined || words !== undefined) return typeof value === 'string'
  return type === undefined || [type].flat().some((one) => (names[one] ?? one) === typeOf(value))
}

/**
 * What answers of today do not have any more, or have as something else. What is null today, or an empty list, may be as
 * it was another time; a field that is not there is gone.
 */
export function lostInAnswers(before: Shape, now: Shape): string[] {
  const lost: string[] = []
  for (const [path, types] of before) {
    const found = now.get(path)
    const [, parent = '', last = ''] = /^(.*?)(\.[^.[\]{}]+|\[\]|\{\})$/.exec(path) ?? []
    if (found === undefined) {
      if (last.startsWith('.') && now.get(parent)?.has('object')) lost.push(`${path} is gone`)
      continue
    }
    const others = [...found].filter((type) => type !== 'null' && !types.has(type))
    if (others.length > 0 && [...types].some((type) => type !== 'null'))
      lost.push(`${path} was ${[...types].join(' or ')} and is ${others.join(' or ')}`)
  }
  return lost
}

/** Whether the second tells nothing that the first does not. */
const holds = (first: Shape, second: Shape): boolean =>
  [...second].every(([path, types]) => [...types].every((type) => first.get(path)?.has(type)))

/** As few of the values, and as few items of the lists in them, as tell all that they tell. */
export function fewest(schema: JsonSchema, values: readonly unknown[], known: Shape = new Map()): unknown[] {
  const kept: unknown[] = []
  for (const value of values) {
    const before = new Map([...known].map(([path, types]) => [path, new Set(types)]))
    for (const [path, types] of shapeOf(schema, kept))
      before.set(path, new Set([...(before.get(path) ?? []), ...types]))
    if (!holds(before, shapeOf(schema, [value]))) kept.push(shortened(schema, value))
  }
  return kept
}

function shortened(schema: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const [items = {}] = itemsOf([schema])
    return fewest(items, value)
  }
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(fields.map(([key, inner]) => [key, shortened(fieldOf([schema], key).of[0] ?? {}, inner)]))
}
