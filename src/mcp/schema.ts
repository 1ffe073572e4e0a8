import type { JsonSchema } from '../api/schema.ts'

/** Schemas of the operation table as tools show them: fewer fields, and nothing that only other doors understand. */

/** An object with some of its fields, in the order given. Those that were required stay so; `add` has others besides. */
export function pickFields(
  schema: JsonSchema,
  fields: readonly string[],
  { add = {}, required = [] }: { add?: Readonly<Record<string, JsonSchema>>; required?: readonly string[] } = {},
): JsonSchema {
  const known = schema.properties ?? {}
  const missing = fields.find((field) => known[field] === undefined)
  if (missing !== undefined) throw new TypeError(`The operation has no field ${missing}`)
  const properties = { ...Object.fromEntries(fields.map((field) => [field, known[field] ?? {}])), ...add }
  const needed = fields.filter((field) => schema.required?.includes(field))
  return { type: 'object', properties, required: [...new Set([...needed, ...required])], additionalProperties: false }
}

/** The fields of a value that the schema names. */
export const pickValues = <T extends object, K extends keyof T>(value: T, fields: readonly K[]): Pick<T, K> =>
  Object.fromEntries(
    fields.filter((field) => value[field] !== undefined).map((field) => [field, value[field]]),
  ) as Pick<T, K>

/** As it goes out. Clients check with validators that refuse words they do not know. */
export function publicSchema(schema: JsonSchema): JsonSchema {
  const { properties, items, anyOf, additionalProperties, description, 'x-cli': _c, 'x-path': _p, ...rest } = schema
  return {
    ...rest,
    ...(description !== undefined && description !== '' && { description }),
    ...(properties !== undefined && { properties: mapped(properties) }),
    ...(items !== undefined && { items: publicSchema(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(publicSchema) }),
    ...(additionalProperties !== undefined && {
      additionalProperties:
        typeof additionalProperties === 'object' ? publicSchema(additionalProperties) : additionalProperties,
    }),
  }
}

const mapped = (properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, publicSchema(schema)]))
