import { maxTimerMs } from '../domain/text/max-values.ts'

/**
 * Schemas of the operation table: plain JSON Schema objects that also carry a TypeScript type. They are data, so every
 * door can read them (flags, OpenAPI, MCP tools, reference pages), and they cost nothing to load; `parse` checks the
 * subset that is used here. ADR 0002 tells why this is not a schema library.
 */

declare const type: unique symbol
declare const optionalMark: unique symbol

export interface JsonSchema {
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object' | 'null' | readonly string[]
  readonly description?: string
  readonly enum?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly default?: unknown
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  /** `bytes`: a string or a byte array in process, base64 in JSON. */
  readonly contentEncoding?: 'base64'
  /** A path in a workspace. */
  readonly 'x-path'?: true
  /** How a command line gives the value when it is not plain text: see `cli/flags.ts`. */
  readonly 'x-cli'?:
    | 'start'
    | 'repository'
    | 'file'
    /** A file, or - for standard output. */
    | 'output'
    | 'directory'
    | 'place'
    | 'pairs'
    | 'json'
    | 'stdin'
    /** From standard input alone: others see what stands on a command line. */
    | 'secret'
    | 'duration'
    /** A number of them, or with a unit in a flag without `-ms`: `--timeout 5m`. */
    | 'milliseconds'
    | 'octal'
    /** A text, or @FILE that holds it. */
    | 'prompt'
    /** A program and its arguments: all that follows, flags too. */
    | 'command'
}

export type Schema<T> = JsonSchema & { readonly [type]?: T }
export type Optional<T> = Schema<T> & { readonly [optionalMark]: true }
export type Infer<S> = S extends Schema<infer T> ? T : never

type Properties = Readonly<Record<string, Schema<unknown>>>
type OptionalKeys<P extends Properties> = { [K in keyof P]: P[K] extends Optional<unknown> ? K : never }[keyof P]
type Flat<T> = { [K in keyof T]: T[K] }
export type InferObject<P extends Properties> = Flat<
  { readonly [K in Exclude<keyof P, OptionalKeys<P>>]: Infer<P[K]> } & {
    readonly [K in OptionalKeys<P>]?: Infer<P[K]> | undefined
  }
>

export const string = (description: string, more: JsonSchema = {}): Schema<string> => ({
  type: 'string',
  description,
  ...more,
})
export const integer = (description: string, more: JsonSchema = {}): Schema<number> => ({
  type: 'integer',
  description,
  ...more,
})
/** A field whose name ends with `_ms`. */
export const milliseconds = (description: string, more: JsonSchema = {}): Schema<number> =>
  integer(description, { minimum: 0, maximum: maxTimerMs, 'x-cli': 'milliseconds', ...more })
export const boolean = (description: string, more: JsonSchema = {}): Schema<boolean> => ({
  type: 'boolean',
  description,
  ...more,
})
export const choice = <const V extends readonly string[]>(
  values: V,
  description: string,
  more: JsonSchema = {},
): Schema<V[number]> => ({ type: 'string', enum: values, description, ...more })
/** Below the root of a workspace. */
export const pathIn = (description: string): Schema<string> => string(description, { 'x-path': true })
export const list = <T>(items: Schema<T>, description = '', more: JsonSchema = {}): Schema<readonly T[]> => ({
  type: 'array',
  items,
  description,
  ...more,
})
const record = <T>(values: Schema<T>, description: string): Schema<Readonly<Record<string, T>>> => ({
  type: 'object',
  additionalProperties: values,
  description,
})
export const pairs = (description: string): Schema<Readonly<Record<string, string>>> => ({
  ...record(string(''), description),
  'x-cli': 'pairs',
})
/** Any object; its fields are checked further in. */
export const json = (description: string): Schema<Readonly<Record<string, unknown>>> => ({
  type: 'object',
  additionalProperties: true,
  description,
  'x-cli': 'json',
})
export const anything = (description: string): Schema<unknown> => ({ description })
export const bytes = (description: string): Schema<Uint8Array | string> => ({
  type: 'string',
  contentEncoding: 'base64',
  description,
  'x-cli': 'stdin',
})
export const nullable = <T>(schema: Schema<T>): Schema<T | null> => ({
  description: schema.description ?? '',
  anyOf: [schema, { type: 'null' }],
})
/**
 * A path of the machine, which is null where the machine does not see the workspaces, as with overlay for an ordinary user.
 * The type leaves that out: everywhere else there is a path, and programs are written for that.
 */
export const hostPath = (description: string): Schema<string> => nullable(string(description)) as Schema<string>
export const either = <A, B>(
  a: Schema<A>,
  b: Schema<B>,
  description: string,
  more: JsonSchema = {},
): Schema<A | B> => ({
  description,
  anyOf: [a, b],
  ...more,
})

/** Which schemas are of fields that may be left out. All of this runs whenever a command starts, so it is plain. */
const optionals = new WeakSet<JsonSchema>()

/** The field may be left out. */
export const optional = <T>(schema: Schema<T>): Optional<T> => {
  const copy = { ...schema }
  optionals.add(copy)
  return copy as never
}

export const object = <P extends Properties>(properties: P, description = ''): Schema<InferObject<P>> => {
  const required: string[] = []
  for (const key in properties) if (!optionals.has(properties[key] as JsonSchema)) required.push(key)
  return { type: 'object', description, properties, required, additionalProperties: false }
}
