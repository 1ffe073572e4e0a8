import type { Operation } from '../../api/operation.ts'
import type { Table } from '../../api/table.ts'
import { presetNames } from '../../domain/network/presets.ts'
import { profiles } from '../../domain/workspace/profiles.ts'
import { visibleBuiltins } from '../command.ts'
import { choicesOf, commandField, flagsOf, repeatedAt, shownFlags, type Flag } from '../input/flags.ts'
import { globalFlags } from '../input/globals.ts'

/**
 * What can stand for a value: fixed words, or something the shell or `aw` has to look up. A place is a file of the
 * machine, or a workspace with a colon behind it.
 */
export type Values = readonly string[] | Names | 'files' | 'folders' | 'places' | 'none'

/**
 * What `aw __names` knows. Snapshots, branches and variables are those of the workspace that stands first on the line, or
 * of the one that a new one is to begin as.
 */
export const knownNames = [
  'live',
  'trashed',
  'tasks',
  'snapshots',
  'branches',
  'templates',
  'bases',
  'shared',
  'shared-trashed',
  'env',
  'agents',
] as const
export type Names = (typeof knownNames)[number]

export interface FlagModel {
  readonly name: string
  readonly short?: string | undefined
  readonly about: string
  /** None for a switch. */
  readonly values?: Values
}

export interface CommandModel {
  readonly name: string
  readonly about: string
  readonly flags: readonly FlagModel[]
  /** What may stand in each position, in order. */
  readonly positions: readonly Values[]
  /** The position that may be repeated, if one may. */
  readonly repeated?: number | undefined
  /** After its first position comes a program with flags of its own. */
  readonly runs?: boolean
}

/** Before any command is named: the global flags. */
export const globalFlagsModel = (): CommandModel => ({ name: '', about: '', flags: globals, positions: [] })

/** Everything the three scripts need, worked out once from the table. */
export function completionModel(table: Table): readonly CommandModel[] {
  const ofTable = table.flatMap((operation) => {
    const model = commandModel(operation)
    return operation.name === 'doctor' ? [model, { ...model, name: 'check' }] : [model]
  })
  const own = visibleBuiltins().map(({ name, summary, words, workspace, ...builtin }): CommandModel => {
    const input = builtin.input?.() ?? {}
    const first = name === 'help' ? helpWords(table) : workspace === true ? ('live' as const) : words
    const flags = shownFlags({ name, input }).map((flag) => ownFlag(flag))
    const runs = commandField({ input }) !== undefined
    return { name, about: summary, flags: [...flags, ...globals], positions: first === undefined ? [] : [first], runs }
  })
  return [...ofTable, ...own]
}

function commandModel(operation: Operation): CommandModel {
  const flags = flagsOf(operation)
  const taken = new Set(flags.flatMap((flag) => flag.names))
  const own = shownFlags(operation).flatMap((flag) =>
    flag.names.map((name) => flagModel(flag, spelled(flag, name), operation)),
  )
  const positions = operation.positional.map((field) => {
    const flag = flags.find((candidate) => candidate.field === field)
    return flag === undefined ? 'none' : valuesOf(flag, operation)
  })
  return {
    name: operation.name,
    about: operation.summary,
    flags: [...own, ...globals.filter((flag) => !taken.has(flag.name))],
    positions,
    repeated: repeatedAt(operation),
    runs: commandField(operation) !== undefined,
  }
}

function ownFlag(flag: Flag): FlagModel {
  const { name, short, field, kind, schema } = flag
  const about = schema.description ?? ''
  if (kind === 'switch') return { name, short, about }
  const choices = choicesOf(flag)
  return { name, short, about, values: choices.length > 0 ? choices : field === 'id' ? 'live' : wallsOf(field) }
}

/** What a sandbox may be given. */
function wallsOf(field: string): Values {
  if (field === 'allow') return presetNames
  if (field === 'agent') return 'agents'
  return field === 'shared' ? 'shared' : 'none'
}

const spelled = (flag: Flag, name: string): string => (flag.schema.default === true ? `no-${name}` : name)

function flagModel(flag: Flag, name: string, operation: Operation): FlagModel {
  const about = flag.schema.description ?? ''
  const known = { name, short: flag.short, about }
  return flag.kind === 'switch' ? known : { ...known, values: valuesOf(flag, operation) }
}

function valuesOf(flag: Flag, operation: Operation): Values {
  const choices = choicesOf(flag)
  if (choices.length > 0) return choices
  if (flag.schema['x-cli'] === 'start' || flag.schema['x-cli'] === 'repository') return 'folders'
  if (flag.schema['x-cli'] === 'json' || flag.schema['x-cli'] === 'file') return 'files'
  if (flag.schema['x-cli'] === 'place') return 'places'
  if (flag.field === 'id') return whoseNames(operation)
  if (operation.names?.[flag.field] === 'workspace' || ['workspace', 'from_workspace', 'of'].includes(flag.field))
    return 'live'
  if (flag.field === 'template') return 'templates'
  if (flag.field === 'profile') return Object.keys(profiles)
  // There it is the last part of a name.
  if (operation.name === 'list' && flag.field === 'agent') return 'none'
  if (flag.field === 'task' || (operation.name === 'exec' && flag.field === 'all')) return 'tasks'
  if (operation.name === 'env unset' && flag.field === 'names') return 'env'
  if (['snapshot', 'snapshots', 'at'].includes(flag.field)) return 'snapshots'
  if (flag.field === 'branch' || (operation.name === 'branch' && flag.field === 'name')) return 'branches'
  if (operation.name === 'diff' && operation.positional.includes(flag.field)) return 'live'
  return flag.field === operation.positional[0] ? (things[operation.name] ?? 'none') : wallsOf(flag.field)
}

/** What the commands are about that are not about a workspace. */
const things: Readonly<Record<string, Names>> = {
  'template show': 'templates',
  'template log': 'templates',
  'template update': 'templates',
  'template remove': 'templates',
  'bases remove': 'bases',
  'shared remove': 'shared',
  'shared undelete': 'shared-trashed',
  'agents show': 'agents',
  'agents test': 'agents',
}

function whoseNames({ states, errors }: Operation): Values {
  if (states === 'undelete' || states === 'purge') return 'trashed'
  // What may fail because the name is taken, and needs no workspace to begin with, wants a new name.
  return states === undefined && errors.includes('workspace_exists') ? 'none' : 'live'
}

const globals: readonly FlagModel[] = globalFlags.map(({ name, about, value, choices }) => {
  if (value === undefined) return { name, about }
  const looked = value === 'DIR' ? 'folders' : value === 'FILE' ? 'files' : 'none'
  return { name, about, values: choices ?? looked }
})

const helpWords = (table: Table): string[] => [
  ...new Set([
    ...table.map((entry) => entry.name.split(' ')[0] ?? ''),
    ...visibleBuiltins().map((entry) => entry.name),
  ]),
  'exit-codes',
]

/** The commands that run a program: what follows that is not ours to complete. */
export const programCommands = (commands: readonly CommandModel[]): string[] =>
  commands.flatMap(({ name, runs }) => (runs === true ? [name] : []))

/** The words that may follow a prefix: `` → create, fs, …; `fs` → read, write, … */
export function nextWords(commands: readonly CommandModel[]): Map<string, { word: string; about: string }[]> {
  const next = new Map<string, { word: string; about: string }[]>()
  for (const { name, about } of commands) {
    const words = name.split(' ')
    for (const [i, word] of words.entries()) {
      const prefix = words.slice(0, i).join(' ')
      const known = next.get(prefix) ?? []
      const isLast = i === words.length - 1
      if (!known.some((entry) => entry.word === word))
        known.push({ word, about: isLast ? about : `Commands of ${word}` })
      next.set(prefix, known)
    }
  }
  return next
}
