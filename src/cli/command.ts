import type { Operation } from '../api/operation.ts'
import type { Table } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import { nearest } from '../domain/text/nearest.ts'
import { builtins, type Builtin } from './builtins.ts'
import { commandFlags, type CommandFlags } from './input/flags.ts'

export type Command =
  | { readonly kind: 'operation'; readonly operation: Operation; readonly rest: readonly string[] }
  | { readonly kind: 'builtin'; readonly builtin: Builtin; readonly rest: readonly string[] }
  /** The first word of several commands, such as `fs`. */
  | { readonly kind: 'group'; readonly group: string; readonly rest: readonly string[] }

const aliases: Readonly<Record<string, string>> = { check: 'doctor' }

/** What people used to other tools type. Only ever suggested: one thing has one name. */
export const commandSuggestions: Readonly<Record<string, string>> = {
  add: 'create',
  apply: 'export',
  attach: 'logs',
  back: 'undo',
  branches: 'branch',
  cat: 'fs read',
  cd: 'path',
  changes: 'diff',
  checkout: 'restore',
  checkpoint: 'snapshot',
  clone: 'fork',
  commit: 'snapshot',
  compare: 'diff',
  copy: 'fork',
  delete: 'destroy',
  duplicate: 'fork',
  freeze: 'snapshot',
  get: 'show',
  halt: 'stop',
  info: 'show',
  kill: 'cancel',
  log: 'logs',
  ls: 'list',
  merge: 'export',
  mv: 'rename',
  new: 'create',
  port: 'forward',
  'port-forward': 'forward',
  patch: 'export',
  ps: 'status',
  remove: 'destroy',
  revert: 'undo',
  rm: 'destroy',
  rollback: 'restore',
  save: 'snapshot',
  sh: 'shell',
  snap: 'snapshot',
  'snapshot delete': 'snapshot remove',
  'snapshot erase': 'snapshot remove',
  'snapshot list': 'snapshots',
  'snapshot ls': 'snapshots',
  'snapshot rm': 'snapshot remove',
  'snapshot tag': 'snapshot label',
  ssh: 'shell',
  switch: 'restore',
  tag: 'snapshot label',
  tail: 'logs',
  version: '--version',
  where: 'path',
}

/** Finds the command that the first words name; the longest match wins. */
export function findCommand(args: readonly string[], table: Table): Command {
  const words = args.slice(0, wordCount(args))
  for (let count = words.length; count > 0; count--) {
    const name = words.slice(0, count).join(' ')
    const operation = table.find((entry) => entry.name === (aliases[name] ?? name))
    if (operation !== undefined) return { kind: 'operation', operation, rest: args.slice(count) }
    const builtin = builtins.find((entry) => entry.name === name)
    if (builtin !== undefined) return { kind: 'builtin', builtin, rest: args.slice(count) }
    if (isGroup(name, table)) return { kind: 'group', group: name, rest: args.slice(count) }
  }
  throw unknownCommand(words[0] ?? args[0] ?? '', table)
}

/** What the command takes besides global flags. */
export function flagsOfCommand(command: Command): CommandFlags {
  if (command.kind === 'operation') return commandFlags(command.operation)
  const { name, input } = command.kind === 'builtin' ? command.builtin : {}
  return commandFlags(name === undefined || input === undefined ? undefined : { name, input: input() })
}

const isGroup = (name: string, table: Table): boolean => table.some((entry) => entry.name.startsWith(`${name} `))

export const commandsOf = (group: string, table: Table): Operation[] =>
  table.filter((entry) => entry.name.startsWith(`${group} `))

/** `aw fs`, or `aw fs raed`: the group exists, the command does not. */
export function groupError(group: string, word: string | undefined, table: Table): AwError {
  const known = commandsOf(group, table).map((entry) => entry.name.slice(group.length + 1))
  if (word === undefined) {
    return new AwError('invalid_input', `aw ${group} needs a command: ${known.join(', ')}`, {
      hint: `See aw help ${group}`,
      data: { known },
    })
  }
  const close = nearest(word, known)
  return new AwError('invalid_input', `There is no command ${JSON.stringify(`${group} ${word}`)}`, {
    hint: close === undefined ? `Known are: ${known.join(', ')}` : `Did you mean aw ${group} ${close}?`,
    data: { known },
  })
}

export function unknownCommand(word: string, table: Table): AwError {
  const known = [...table.map((entry) => entry.name), ...visibleBuiltins().map((entry) => entry.name)]
  const firstWords = [...new Set(known.map((name) => name.split(' ')[0] ?? name))]
  const other = commandSuggestions[word]
  const close = other !== undefined && [...known, '--version'].includes(other) ? other : nearest(word, firstWords)
  return new AwError('invalid_input', `There is no command ${JSON.stringify(word)}`, {
    hint: close === undefined ? 'See all commands with: aw help' : `Did you mean aw ${close}?`,
    data: { command: word },
  })
}

export const visibleBuiltins = (): Builtin[] => builtins.filter((entry) => entry.hidden !== true)

function wordCount(args: readonly string[]): number {
  const flag = args.findIndex((token) => token.startsWith('-'))
  return flag === -1 ? args.length : flag
}
