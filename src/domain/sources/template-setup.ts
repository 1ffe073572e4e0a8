import { createHash } from 'node:crypto'
import type { AnyEvent, EventType } from '../log/event.ts'
import type { CommandId } from '../ids.ts'
import type { Exit, Isolation, Limits, Network, Walls } from '../sandbox/spec.ts'
import type { Owner } from '../workspace/state.ts'

/** One line for `sh -c`, or a program and its arguments. */
export type SetupCommand = string | readonly string[]

/** What is run in the tree of a template before it is frozen, and behind which walls. */
export interface SetupPlan {
  commands: readonly SetupCommand[]
  /** Patterns of the files that it depends on, counted from where the content is; none: on the whole source. */
  inputs: readonly string[]
  isolation: Isolation
  network: Network
  /** What was asked for; `wall_ms` is of each command. */
  limits: Limits
  /** Where the tree is inside: what is made there may know itself by that path. */
  mount: string
}

/** A set-up that has run, and what it ran on. */
export interface TemplateSetup extends SetupPlan {
  /** Says whether it would do the same again; null: that cannot be told. */
  key: string | null
  /** Of the whole tree before it; null: that cannot be told. */
  source: string | null
  /** The files that the patterns mean, with their hashes. */
  files: Readonly<Record<string, string>>
  /** What it added, a directory with a slash at the end; null: it changed more than that. */
  added: readonly string[] | null
  /** For which version of the template it ran; others have taken over what it made. */
  version: number
  ran_at: string
  duration_ms: number
  /** Of each command, what it wrote. */
  logs: readonly CommandId[]
}

/** A set-up is about to run: its sandbox, and the tree that it works on, have this name. */
export interface SetupStarted extends Omit<SetupPlan, 'inputs'> {
  template: string
  sandbox: string
  owner: Owner
  logs: readonly CommandId[]
}

export interface SetupEnded {
  template: string
  sandbox: string
  /** Of each command that ran to its end, in their order. */
  exits: readonly Exit[]
  /** How its sandbox held; null: it never stood, or nobody knows. */
  walls: Walls | null
  problem: { code: string; message: string } | null
}

/** A set-up as the log tells it. */
export interface SetupRecord extends SetupStarted {
  readonly started_at: string
  readonly ended?: SetupEnded & { readonly at: string }
}

export const setupEventTypes = ['template_setup_started', 'template_setup_ended'] as const satisfies EventType[]

/** All that were ever begun, oldest first. */
export function foldSetups(events: Iterable<AnyEvent>): SetupRecord[] {
  const setups = new Map<string, SetupRecord>()
  for (const event of events) {
    if (event.type === 'template_setup_started') setups.set(event.data.sandbox, { ...event.data, started_at: event.at })
    if (event.type !== 'template_setup_ended') continue
    const begun = setups.get(event.data.sandbox)
    if (begun !== undefined) setups.set(event.data.sandbox, { ...begun, ended: { ...event.data, at: event.at } })
  }
  return [...setups.values()]
}

export const argvOf = (command: SetupCommand): readonly string[] =>
  typeof command === 'string' ? ['sh', '-c', command] : command

/** As one would type it. */
export const commandText = (command: SetupCommand): string =>
  typeof command === 'string' ? command : command.map(quoted).join(' ')

/** Its first line, for a message. */
export function shortText(command: SetupCommand): string {
  const [first = '', ...more] = commandText(command).trim().split('\n')
  return more.length > 0 || first.length > 100 ? `${first.slice(0, 100)}…` : first
}

const quoted = (word: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

export interface Hashing {
  update(data: Uint8Array | string): void
  digest(encoding: 'hex'): string
}

export const hashing = (): Hashing => createHash('sha256')

export function hashOf(value: unknown): string {
  const hash = hashing()
  hash.update(JSON.stringify(value))
  return hash.digest('hex')
}
