import type { Operation } from '../api/operation.ts'
import { parse, refusalOf } from '../api/parse.ts'
import type { JsonSchema } from '../api/schema.ts'
import { AwError } from '../domain/errors.ts'
import type { Found, Query } from './routes/routes.ts'

/** The input of an operation: what the path says, and beside it the query or the body. No field comes from two places. */
export function inputOf({ operation, fields }: Found, query: Query, body: unknown): Record<string, unknown> {
  const { properties = {} } = operation.input
  const schemaOf = (field: string): JsonSchema =>
    (Object.hasOwn(properties, field) ? properties[field] : undefined) ?? {}
  // Without a prototype, __proto__ is a field like any that is not known.
  const input = Object.create(null) as Record<string, unknown>
  for (const [field, text] of Object.entries(fields)) input[field] = valueOf(schemaOf(field), [text], field)
  for (const [field, texts] of query) {
    assertOnce(input, field, schemaOf(field))
    input[field] = valueOf(schemaOf(field), texts, field)
  }
  if (body !== undefined) {
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw new AwError('invalid_input', 'The body must be a JSON object')
    for (const [field, value] of Object.entries(body)) {
      assertOnce(input, field, schemaOf(field))
      input[field] = bytesOf(schemaOf(field), value)
    }
  }
  return { ...(parse(operation.input, input) as Record<string, unknown>) }
}

function assertOnce(input: object, field: string, schema: JsonSchema): void {
  if (Object.hasOwn(input, field)) throw givenTwice(field, schema)
}

const givenTwice = (field: string, schema: JsonSchema): AwError =>
  new AwError(refusalOf(schema), `${field} is given twice`, { data: { field } })

/** A field of the path or the query is text; its schema says what it means. */
function valueOf(schema: JsonSchema, texts: readonly string[], field: string): unknown {
  const text = texts[0] ?? ''
  if (schema.type === 'array') return texts.map((one) => valueOf(schema.items ?? {}, [one], field))
  if (schema['x-cli'] === 'pairs') return Object.fromEntries(texts.map((pair) => pairOf(pair, field)))
  if (texts.length > 1) throw givenTwice(field, schema)
  if (schema.type === 'integer') return /^-?\d{1,15}$/.test(text) ? Number(text) : text
  if (schema.type === 'boolean') return { true: true, false: false, '': true, 1: true, 0: false }[text] ?? text
  return text
}

function pairOf(text: string, field: string): [string, string] {
  const at = text.indexOf('=')
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
  throw new AwError('invalid_input', `${field} takes KEY=VALUE, not ${JSON.stringify(text.slice(0, 100))}`, {
    data: { field },
  })
}

/** Bytes are base64 in JSON. */
function bytesOf(schema: JsonSchema, value: unknown): unknown {
  if (schema.contentEncoding !== 'base64' || typeof value !== 'string') return value
  const bytes = Buffer.from(value, 'base64')
  // Node leaves out what it does not understand.
  if (unpadded(bytes.toString('base64')) === unpadded(value)) return bytes
  throw new AwError('invalid_input', 'Content is given as base64', {
    hint: 'Or send it as it is, with Content-Type: application/octet-stream',
  })
}

/** Each run of signs is looked at once, wherever it begins: the text is anybody's, and may be nothing but signs. */
const unpadded = (text: string): string => text.replace(/(?<!=)=+$/, '')

/** The one field that is given as raw bytes. */
export const bytesField = ({ input }: Operation): string | undefined =>
  Object.entries(input.properties ?? {}).find(([, schema]) => schema.contentEncoding === 'base64')?.[0]
