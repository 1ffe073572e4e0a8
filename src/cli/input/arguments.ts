import type { Operation } from '../../api/operation.ts'
import { AwError } from '../../domain/errors.ts'
import { nearest } from '../../domain/text/nearest.ts'
import { positionName, usage, type CommandFlags, type Flag } from './flags.ts'
import { findGlobal, globalFlags } from './globals.ts'

/** What stands on the command line, sorted but not yet understood. */
export interface Arguments {
  /** By field; a switch has `true` or `false` as text. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  /** By field, the spelling of its flag that was used last, with the dashes. */
  readonly typed: ReadonlyMap<string, string>
  readonly globals: ReadonlyMap<string, readonly string[]>
  readonly positionals: readonly string[]
  /** A program and its arguments, where the command takes one and it is there. */
  readonly command?: readonly string[] | undefined
  /** What the command takes, by which all of this was sorted. */
  readonly flags: readonly Flag[]
}

/** The global flags before the command's words. */
export function leadingGlobals(args: readonly string[]): { globals: Map<string, string[]>; rest: readonly string[] } {
  const globals = new Map<string, string[]>()
  let i = 0
  for (; i < args.length && (args[i] ?? '').startsWith('-') && args[i] !== '-'; i++) {
    const token = split(args[i] ?? '')
    const flag = findGlobal(token.name)
    if (flag === undefined)
      throw unknownFlag(
        token.name,
        globalFlags.map((entry) => entry.name),
        'aw',
      )
    if (flag.value === undefined) add(globals, flag.name, switchValue(token))
    else add(globals, flag.name, token.value ?? valueAfter(args, i++, token.name))
  }
  return { globals, rest: args.slice(i) }
}

/**
 * Where the program begins that the command is to run: after `--`, or at the first word after the workspace, as people
 * know it from other tools. From there on nothing is a flag of ours. At the end, for a command that runs none.
 */
export function commandAt(args: readonly string[], { flags: own, runs }: CommandFlags): number {
  const flags = runs ? own : []
  // What it is to do stands where other commands name a workspace: only -- tells it from a program.
  const hasPrompt = flags.some(({ schema }) => schema['x-cli'] === 'prompt')
  let named = false
  for (let i = 0; i < args.length; i++) {
    const word = args[i] ?? ''
    if (word === '--') return i
    if (flags.length === 0) continue
    if (!word.startsWith('-') || word === '-') {
      if (named && !hasPrompt) return i
      named = true
      continue
    }
    const { name, value } = split(word)
    const own = findOwn(flags, name)?.flag
    if (own?.field === 'id' || own?.field === 'all') named = true
    const takesValue = own === undefined ? findGlobal(name)?.value !== undefined : own.kind !== 'switch'
    if (takesValue && value === undefined) i++
  }
  return args.length
}

/** Sorts what follows the command's words. */
export function sortArguments(args: readonly string[], taken: CommandFlags, end = commandAt(args, taken)): Arguments {
  const { name, flags, runs } = taken
  const fields = new Map<string, string[]>()
  const typed = new Map<string, string>()
  const globals = new Map<string, string[]>()
  const positionals: string[] = []
  const after = args.slice(args[end] === '--' ? end + 1 : end)
  for (let i = 0; i < end; i++) {
    const word = args[i] ?? ''
    if (!word.startsWith('-') || word === '-') {
      positionals.push(word)
      continue
    }
    const token = split(word)
    const own = findOwn(flags, token.name)
    if (own !== undefined) {
      typed.set(own.flag.field, token.name)
      if (own.flag.kind !== 'switch') add(fields, own.flag.field, token.value ?? valueAfter(args, i++, token.name))
      else fields.set(own.flag.field, [String((switchValue(token) === 'true') !== own.negated)])
      continue
    }
    const together = switchesIn(flags, token.name)
    if (together.length > 0) {
      for (const flag of together) fields.set(flag.field, ['true'])
      continue
    }
    const global = findGlobal(token.name)
    if (global === undefined) throw unknownFlag(token.name, namesOf(flags), name)
    if (global.value === undefined) add(globals, global.name, switchValue(token))
    else add(globals, global.name, token.value ?? valueAfter(args, i++, token.name))
  }
  if (!runs) return { fields, typed, globals, positionals: [...positionals, ...after], flags }
  return { fields, typed, globals, positionals, ...(end < args.length && { command: after }), flags }
}

interface Token {
  readonly name: string
  readonly value: string | undefined
}

function split(word: string): Token {
  const at = word.startsWith('--') ? word.indexOf('=') : -1
  return at === -1 ? { name: word, value: undefined } : { name: word.slice(0, at), value: word.slice(at + 1) }
}

function findOwn(flags: readonly Flag[], name: string): { flag: Flag; negated: boolean } | undefined {
  if (!name.startsWith('--')) {
    const short = flags.find((flag) => `-${flag.short}` === name)
    return short === undefined ? undefined : { flag: short, negated: false }
  }
  const find = (wanted: string): Flag | undefined => flags.find((flag) => flag.names.includes(wanted))
  const flag = find(name.slice(2))
  if (flag !== undefined) return { flag, negated: false }
  const denied = name.startsWith('--no-') ? find(name.slice(5)) : undefined
  return denied?.kind === 'switch' ? { flag: denied, negated: true } : undefined
}

/** `-it` is `-i -t`. */
function switchesIn(flags: readonly Flag[], name: string): Flag[] {
  if (!/^-[a-z]{2,}$/.test(name)) return []
  const letters = name.slice(1).split('')
  const found = letters.map((letter) => flags.find(({ short, kind }) => short === letter && kind === 'switch'))
  return found.every((flag) => flag !== undefined) ? found : []
}

function valueAfter(args: readonly string[], at: number, flag: string): string {
  const value = args[at + 1]
  // `-` alone and `-5` may well be values; `--other` is a forgotten one.
  if (value !== undefined && !value.startsWith('--')) return value
  throw new AwError('invalid_input', `${flag} needs a value`, {
    hint: `Give it as ${flag} VALUE or ${flag}=VALUE`,
    data: { flag },
  })
}

function switchValue(token: Token): string {
  if (token.value === undefined || token.value === 'true') return 'true'
  if (token.value === 'false') return 'false'
  throw new AwError('invalid_input', `${token.name} takes no value, only true or false`, { data: { flag: token.name } })
}

function add(map: Map<string, string[]>, name: string, value: string): void {
  map.set(name, [...(map.get(name) ?? []), value])
}

const namesOf = (flags: readonly Flag[]): string[] => [
  ...flags.flatMap((flag) => flag.names),
  ...globalFlags.map((flag) => flag.name),
]

function unknownFlag(token: string, known: readonly string[], command: string | undefined): AwError {
  if (command === 'cp' && /^(-[raR]|--recursive)$/.test(token))
    return new AwError('invalid_input', `cp needs no ${token}: a directory is always copied with all that is in it`, {
      hint: `Leave ${token} out`,
      data: { flag: token },
    })
  const close = token.startsWith('--') ? closeTo(token.slice(2), known) : undefined
  const help = command === undefined || command === 'aw' ? 'aw help' : `aw help ${command}`
  return new AwError('invalid_input', `There is no flag ${token}`, {
    hint: close === undefined ? `See the flags with: ${help}` : `Did you mean --${close}?`,
    data: { flag: token },
  })
}

/** `--timeout` may well be `--timeout-ms`. */
const closeTo = (name: string, known: readonly string[]): string | undefined =>
  known.find((one) => name.length > 2 && one.startsWith(`${name}-`)) ?? nearest(name, known)

export function missing(operation: Operation, flag: Flag): AwError {
  const isPositional = operation.positional.includes(flag.field)
  const how = isPositional ? positionName(flag.field, flag) : `--${flag.name}`
  return new AwError('invalid_input', `${operation.name} needs ${how} (${lowerFirst(flag.schema.description ?? '')})`, {
    hint: `Usage: ${usage(operation)}`,
    data: { field: flag.field },
  })
}

const lowerFirst = (text: string): string =>
  /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
