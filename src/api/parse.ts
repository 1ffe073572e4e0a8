import { AwError } from '../domain/errors.ts'
import { nearest } from '../domain/text/nearest.ts'
import type { Infer, JsonSchema, Schema } from './schema.ts'

/** Checks a value from outside against a schema, once, at the edge. The first thing wrong is `invalid_input`. */
export function parse<S extends Schema<unknown>>(schema: S, value: unknown, what = 'input'): Infer<S> {
  check(schema, value, what)
  assertWellFormed(value, what)
  return value as Infer<S>
}

const deepest = 64

/** Half of a surrogate pair is no text: it could not be stored as it is, nor be told from another one afterwards. */
function assertWellFormed(value: unknown, where: string, depth = 0): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw wrong(where, 'well-formed Unicode', value)
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return
  if (depth > deepest) throw new AwError('invalid_input', `${where.slice(0, 60)}… is nested too deeply`)
  for (const [key, inner] of Object.entries(value)) {
    assertWellFormed(key, where)
    assertWellFormed(inner, where === 'input' ? key : `${where}.${key}`, depth + 1)
  }
}

function check(schema: JsonSchema, value: unknown, where: string): void {
  if (schema.anyOf !== undefined) return checkAny(schema.anyOf, value, where)
  if (schema.contentEncoding === 'base64') {
    if (typeof value === 'string' || value instanceof Uint8Array) return
    throw wrong(where, 'text or bytes', value)
  }
  switch (schema.type) {
    case 'string':
      return checkString(schema, value, where)
    case 'integer':
      if (!Number.isSafeInteger(value)) throw wrong(where, 'a whole number', value)
      return checkRange(schema, value as number, where)
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) throw wrong(where, 'a number', value)
      return checkRange(schema, value, where)
    case 'boolean':
      if (typeof value !== 'boolean') throw wrong(where, 'true or false', value)
      return undefined
    case 'null':
      if (value !== null) throw wrong(where, 'null', value)
      return undefined
    case 'array':
      if (!Array.isArray(value)) throw wrong(where, 'a list', value)
      for (const [i, item] of value.entries()) check(schema.items ?? {}, item, `${where}[${i}]`)
      return undefined
    case 'object':
      return checkObject(schema, value, where)
    default:
      return undefined
  }
}

function checkAny(choices: readonly JsonSchema[], value: unknown, where: string): void {
  let told: unknown
  for (const choice of choices) {
    try {
      return check(choice, value, where)
    } catch (error) {
      // What is wrong with it as that which it is, says more than that it is nothing else.
      if (told === undefined || choice.type === typeOf(value)) told = error
    }
  }
  throw typeOf(value) === 'object' ? told : withFields(told, choices)
}

/** Whoever wrote a word, where few words are known and the rest is said with fields, is told of those. */
function withFields(error: unknown, choices: readonly JsonSchema[]): unknown {
  const fields = choices.flatMap(({ properties = {} }) => Object.keys(properties))
  if (!(error instanceof AwError) || error.hint !== undefined || fields.length === 0) return error
  const hint = `It may also be an object with fields: ${fields.join(', ')}`
  return new AwError(error.code, error.message, { hint, data: error.data })
}

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

function checkString(schema: JsonSchema, value: unknown, where: string): void {
  if (typeof value !== 'string') throw wrong(where, 'text', value, schema)
  if (!value.isWellFormed()) throw wrong(where, 'well-formed Unicode', value, schema)
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    throw new AwError('invalid_input', `${where} is ${shown(value)}; it must be one of ${schema.enum.join(', ')}`, {
      ...nearHint(value, schema.enum),
      data: { field: where, allowed: schema.enum },
    })
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) {
    throw wrong(where, `text like ${schema.pattern}`, value)
  }
  if (schema.maxLength !== undefined && value.length > schema.maxLength) {
    throw wrong(where, `at most ${schema.maxLength} characters`, value)
  }
}

function checkRange(schema: JsonSchema, value: number, where: string): void {
  const { minimum = -Infinity, maximum = Infinity } = schema
  if (value >= minimum && value <= maximum) return
  const range = Number.isFinite(maximum) ? `between ${minimum} and ${maximum}` : `at least ${minimum}`
  throw wrong(where, range, value)
}

function checkObject(schema: JsonSchema, value: unknown, where: string): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(where, 'an object', value)
  const known = schema.properties ?? {}
  for (const key of schema.required ?? []) {
    if (Object.hasOwn(value, key) && (value as Record<string, unknown>)[key] !== undefined) continue
    throw new AwError('invalid_input', `${where === 'input' ? '' : `${where}: `}${key} is missing`, {
      hint: known[key]?.description ?? '',
      data: { field: key },
    })
  }
  for (const [key, item] of Object.entries(value)) {
    const inner = where === 'input' ? key : `${where}.${key}`
    const property = Object.hasOwn(known, key) ? known[key] : schema.additionalProperties
    if (property === undefined || property === false) throw unknownField(key, inner, Object.keys(known))
    if (typeof property === 'object' && item !== undefined) check(property, item, inner)
  }
}

function unknownField(key: string, where: string, known: readonly string[]): AwError {
  return new AwError('invalid_input', `There is no field ${where}`, {
    hint: `Known are: ${known.join(', ')}`,
    ...nearHint(key, known),
    data: { field: where, known },
  })
}

function nearHint(value: string, known: readonly string[]): { hint?: string } {
  const close = nearest(value, known)
  return close === undefined ? {} : { hint: `Did you mean ${close}?` }
}

/** What is no path in a workspace is refused as such, wherever that is noticed. */
export const refusalOf = (schema: JsonSchema): 'invalid_path' | 'invalid_input' =>
  schema['x-path'] === true ? 'invalid_path' : 'invalid_input'

function wrong(where: string, expected: string, value: unknown, schema: JsonSchema = {}): AwError {
  return new AwError(refusalOf(schema), `${where} must be ${expected}, not ${shown(value)}`, { data: { field: where } })
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return String(value)
  return Array.isArray(value) ? 'a list' : `a value of type ${typeof value}`
}
