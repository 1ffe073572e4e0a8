import type { Operation } from '../api/operation.ts'
import type { JsonSchema } from '../api/schema.ts'
import { kebab } from './text.ts'

/** A field of an operation's input as the command line offers it. */
export interface Flag {
  /** The spelling shown first, without the dashes. */
  readonly name: string
  /** Every spelling, the shown one included. */
  readonly names: readonly string[]
  readonly field: string
  readonly schema: JsonSchema
  readonly required: boolean
  /** `switch` takes no value; `many` may be repeated. */
  readonly kind: 'switch' | 'one' | 'many'
}

/** Whatever takes flags: an operation, or a command of this command line's own. */
export type Flagged = Pick<Operation, 'name' | 'input' | 'flags'>

export function flagsOf(operation: Pick<Flagged, 'input' | 'flags'>): readonly Flag[] {
  return Object.entries(operation.input.properties ?? {}).map(([field, schema]) => {
    const others = Object.entries(operation.flags ?? {}).filter(([, target]) => target === field)
    const names = [kebab(field), ...others.map(([name]) => name)]
    return {
      name: kebab(field),
      names,
      field,
      schema,
      required: operation.input.required?.includes(field) ?? false,
      kind: kindOf(schema),
    }
  })
}

function kindOf(schema: JsonSchema): Flag['kind'] {
  if (schema.type === 'boolean') return 'switch'
  return schema.type === 'array' || schema['x-cli'] === 'pairs' ? 'many' : 'one'
}

const forms: Readonly<Record<NonNullable<JsonSchema['x-cli']>, string>> = {
  start: 'PATH',
  repository: 'URL',
  file: 'FILE',
  place: 'PLACE',
  pairs: 'KEY=VALUE',
  json: 'JSON',
  stdin: 'TEXT',
  duration: 'TIME',
  octal: 'MODE',
}

/** What stands for the value in usage lines: `N`, `TIME`, `keep|stop|trash`. */
export function placeholder(flag: Flag): string {
  const schema = flag.schema.type === 'array' ? (flag.schema.items ?? {}) : flag.schema
  if (schema['x-cli'] !== undefined) return forms[schema['x-cli']]
  if (schema.enum !== undefined && schema.enum.length <= 4) return schema.enum.join('|')
  if (schema.type === 'integer' || schema.type === 'number') return 'N'
  return flag.name.replaceAll('-', '_').toUpperCase()
}

export const choicesOf = (flag: Flag): readonly string[] => flag.schema.enum ?? flag.schema.items?.enum ?? []

/**
 * Which of the positions takes several words: the first of a batch, or the last if its field is a list. Undefined if
 * none does.
 */
export function repeatedAt({ batch, positional, input }: Operation): number | undefined {
  if (batch === true) return 0
  const last = positional.length - 1
  return input.properties?.[positional[last] ?? '']?.type === 'array' ? last : undefined
}

/** Fields that come from standard input when nobody gives them otherwise. */
export const readsStdin = (flag: Flag): boolean => flag.schema['x-cli'] === 'stdin'

/** `aw rename ID TO [flags]` */
export function usage(operation: Operation): string {
  const flags = flagsOf(operation)
  const words = operation.positional.map((field, i) => {
    const flag = flags.find((candidate) => candidate.field === field)
    const name = kebab(field).toUpperCase() + (i === repeatedAt(operation) ? '...' : '')
    return flag?.required === true && !readsStdin(flag) ? name : `[${name}]`
  })
  const needed = flags.filter(
    (flag) => flag.required && !operation.positional.includes(flag.field) && !readsStdin(flag),
  )
  const rest = flags.length > words.length + needed.length ? ['[flags]'] : []
  const asFlags = needed.map((flag) => `--${flag.name} ${placeholder(flag)}`)
  const stdin = flags.some((flag) => flag.required && readsStdin(flag)) ? ['< INPUT'] : []
  return ['aw', operation.name, ...words, ...asFlags, ...rest, ...stdin].join(' ')
}
