import type { Operation } from '../../api/operation.ts'
import type { JsonSchema } from '../../api/schema.ts'
import { cliOnlyFields, shortFlags } from './cli-only-flags.ts'

/** A field of an operation's input as the command line offers it. */
export interface Flag {
  /** The spelling shown first, without the dashes. */
  readonly name: string
  /** Every spelling, the shown one included. */
  readonly names: readonly string[]
  /** One letter, without the dash. */
  readonly short?: string | undefined
  readonly field: string
  readonly schema: JsonSchema
  readonly required: boolean
  /** `switch` takes no value; `many` may be repeated. */
  readonly kind: 'switch' | 'one' | 'many'
}

/** Whatever takes flags: an operation, or a command of this command line's own. */
export type Flagged = Pick<Operation, 'name' | 'input' | 'flags'>

export function flagsOf(operation: Omit<Flagged, 'name'> & { readonly name?: string }): readonly Flag[] {
  const fields = { ...operation.input.properties, ...cliOnlyFields(operation.name) }
  const offered = Object.entries(fields).filter(([, schema]) => schema['x-cli'] !== 'secret')
  return offered.map(([field, schema]) => {
    const others = Object.entries(operation.flags ?? {}).filter(([, target]) => target === field)
    const spelled = schema['x-cli'] === 'milliseconds' ? [kebab(field).replace(/-ms$/, '')] : []
    const names = [...spelled, kebab(field), ...others.map(([name]) => name)]
    return {
      name: names[0] ?? '',
      names,
      short: shortFlags(operation.name)[field],
      field,
      schema,
      required: operation.input.required?.includes(field) ?? false,
      kind: kindOf(schema),
    }
  })
}

/** What one command takes, derived once when the command is found. */
export interface CommandFlags {
  /** Undefined for a command with global flags only. */
  readonly name?: string | undefined
  readonly flags: readonly Flag[]
  /** A program may stand at the end of its line. */
  readonly runs: boolean
}

export const commandFlags = (command: Flagged | undefined): CommandFlags =>
  command === undefined
    ? { flags: [], runs: false }
    : { name: command.name, flags: flagsOf(command), runs: commandField(command) !== undefined }

export const kebab = (field: string): string => field.replaceAll('_', '-')

/** Those that help tells of: a program stands at the end of the line, as it is. */
export const shownFlags = (operation: Parameters<typeof flagsOf>[0]): readonly Flag[] =>
  flagsOf(operation).filter(({ schema }) => schema['x-cli'] !== 'command')

function kindOf(schema: JsonSchema): Flag['kind'] {
  if (schema.type === 'boolean') return 'switch'
  return schema.type === 'array' || schema['x-cli'] === 'pairs' ? 'many' : 'one'
}

const forms: Readonly<Record<NonNullable<JsonSchema['x-cli']>, string>> = {
  start: 'PATH',
  repository: 'URL',
  file: 'FILE',
  output: 'FILE',
  directory: 'PATH',
  place: 'PLACE',
  pairs: 'KEY=VALUE',
  json: 'JSON',
  stdin: 'TEXT',
  secret: 'TEXT',
  command: 'COMMAND',
  duration: 'TIME',
  milliseconds: 'TIME',
  octal: 'MODE',
  prompt: 'PROMPT',
}

/** Of fields whose name does not say what their value is. */
const values: Readonly<Record<string, string>> = {
  all: 'TASK',
  allow: 'HOST',
  shared: 'NAME',
  generate: 'TEXT',
  from_workspace: 'WORKSPACE',
  at: 'SNAPSHOT',
  exclude: 'PATTERN',
  setup: 'COMMAND',
  setup_input: 'PATH',
  description: 'TEXT',
  message: 'TEXT',
  as: 'NAME',
  cwd: 'PATH',
  remove: 'KEY',
  after: 'CURSOR',
}

/** What stands for the value in usage lines: `N`, `TIME`, `keep|stop|trash`. */
export function placeholder(flag: Flag): string {
  const schema = flag.schema.type === 'array' ? (flag.schema.items ?? {}) : flag.schema
  if (schema['x-cli'] !== undefined) return forms[schema['x-cli']]
  if (schema.enum !== undefined && schema.enum.length <= 4) return schema.enum.join('|')
  if (schema.type === 'integer' || schema.type === 'number') return 'N'
  return values[flag.field] ?? flag.name.replaceAll('-', '_').toUpperCase()
}

export const choicesOf = (flag: Flag): readonly string[] => flag.schema.enum ?? flag.schema.items?.enum ?? []

/**
 * Which of the positions takes several words: the first of a batch, or the last if its field is a list or pairs.
 * Undefined if none does.
 */
export function repeatedAt({ batch, positional, input }: Operation): number | undefined {
  if (batch === true) return 0
  const last = positional.length - 1
  const schema = input.properties?.[positional[last] ?? '']
  return schema?.type === 'array' || schema?.['x-cli'] === 'pairs' ? last : undefined
}

/** The field that is a program with its arguments, which may have flags of its own. */
export const commandField = ({ input }: Pick<Flagged, 'input'>): string | undefined =>
  Object.entries(input.properties ?? {}).find(([, schema]) => schema['x-cli'] === 'command')?.[0]

/** Fields that come from standard input when nobody gives them otherwise. */
export const readsStdin = (flag: Flag): boolean => flag.schema['x-cli'] === 'stdin'

/** `aw rename ID TO [flags]`, `aw exec [ID] [flags] -- COMMAND...` */
export function usage(operation: Operation): string {
  const flags = flagsOf(operation)
  const command = commandField(operation)
  const words = operation.positional
    .filter((field) => field !== command)
    .map((field, i) => {
      const flag = flags.find((candidate) => candidate.field === field)
      const name = positionName(field, flag) + (i === repeatedAt(operation) ? '...' : '')
      return flag?.required === true && !readsStdin(flag) ? name : `[${name}]`
    })
  const needed = flags.filter(
    (flag) => flag.required && !operation.positional.includes(flag.field) && !readsStdin(flag),
  )
  const rest = flags.length > operation.positional.length + needed.length ? ['[flags]'] : []
  const asFlags = needed.map((flag) => `--${flag.name} ${placeholder(flag)}`)
  const isFed = operation.takes === 'bytes' || flags.some((flag) => flag.required && readsStdin(flag))
  const stdin = isFed ? ['< INPUT'] : []
  const last = command === undefined ? [] : ['--', `${forms.command}...`]
  return ['aw', operation.name, ...words, ...asFlags, ...rest, ...last, ...stdin].join(' ')
}

/** What stands for a positional field: its name, unless its form says more. */
export function positionName(field: string, flag: Flag | undefined): string {
  const form = flag?.schema['x-cli']
  return form === 'command' || form === 'pairs' ? forms[form] : kebab(field).toUpperCase()
}
