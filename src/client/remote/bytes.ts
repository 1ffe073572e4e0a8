import type { JsonSchema } from '../../api/schema.ts'

/** Bytes are base64 on the way, and bytes again here, wherever the schema has them. */
export function withBytes(schema: JsonSchema, value: unknown): unknown {
  if (!hasBytes(schema)) return value
  if (schema.contentEncoding === 'base64') return typeof value === 'string' ? Buffer.from(value, 'base64') : value
  if (typeof value !== 'object' || value === null) return value
  const { items = {}, properties = {} } = schema
  if (Array.isArray(value)) return value.map((item) => withBytes(items, item))
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withBytes(properties[key] ?? {}, inner)]))
}

const known = new WeakMap<JsonSchema, boolean>()

function hasBytes(schema: JsonSchema): boolean {
  const before = known.get(schema)
  if (before !== undefined) return before
  const parts = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items ? [schema.items] : []),
    ...(schema.anyOf ?? []),
  ]
  const found = schema.contentEncoding === 'base64' || parts.some(hasBytes)
  known.set(schema, found)
  return found
}
