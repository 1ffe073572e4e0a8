import type { Table } from '../api/table.ts'
import { commandAt, leadingGlobals, sortArguments } from './input/arguments.ts'
import type { BuiltinCommand, BuiltinName } from './builtins.ts'
import { callOperation } from './call.ts'
import { findCommand, flagsOfCommand, groupError, type Command } from './command.ts'
import { reportError } from './errors.ts'
import type { CommandFlags } from './input/flags.ts'
import { cannotRun } from './exit-codes.ts'
import { mergeGlobals, readGlobals, wantsJson, type Globals } from './input/globals.ts'
import { assertText, type Io } from './io.ts'

export type Run = typeof run

/** Runs one command line and answers with its exit code. Nothing is thrown, nothing is left running. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  let line: Line | undefined
  try {
    assertText(args)
    const { globals: leading, rest } = leadingGlobals(args)
    const globals = readGlobals(leading)
    if (globals.version) return await printVersion(globals, io)
    if (globals.help || rest.length === 0) return await help(rest, globals, io)
    line = lineOf(rest, io.table)
    return await dispatch(line, leading, io)
  } catch (error) {
    const { own, runs } = ownWords(args, line ?? triedLine(args, io.table))
    const code = await reportError(error, io, { json: wantsJson(own), noColor: own.includes('--no-color') })
    // The smaller exit codes are those of the program that was to be run.
    return runs && code !== 0 && code < cannotRun ? cannotRun : code
  }
}

/** A command that was found, and what it takes. */
interface Line {
  readonly command: Command
  readonly taken: CommandFlags
  /** Where in the rest of the command the program begins that it is to run. */
  readonly end: number
}

function lineOf(words: readonly string[], table: Table): Line {
  const command = findCommand(words, table)
  const taken = flagsOfCommand(command)
  return { command, taken, end: commandAt(command.rest, taken) }
}

/** Something failed before the command was looked for; undefined if there is none. */
function triedLine(args: readonly string[], table: Table): Line | undefined {
  try {
    return lineOf(leadingGlobals(args).rest, table)
  } catch {
    return undefined
  }
}

/** The words that are for us, and whether the others are a program to be run. */
function ownWords(args: readonly string[], line: Line | undefined): { own: readonly string[]; runs: boolean } {
  if (line === undefined) return { own: args, runs: false }
  const { command, taken, end } = line
  return { own: args.slice(0, args.length - command.rest.length + end), runs: taken.runs }
}

async function dispatch(line: Line, leading: ReadonlyMap<string, readonly string[]>, io: Io): Promise<number> {
  const { command, taken, end } = line
  if (asksForHelp(command.rest.slice(0, end))) return help(wordsOf(command), withGlobals(leading, command), io)
  if (command.kind === 'group') throw groupError(command.group, command.rest[0], io.table)

  const given = sortArguments(command.rest, taken, end)
  const all = readGlobals(mergeGlobals(leading, given.globals))
  if (all.version) return printVersion(all, io)
  if (command.kind === 'operation') return callOperation(command.operation, given, all, io)
  const runBuiltin = await builtinCommands[command.builtin.name]()
  return runBuiltin(given.positionals, all, io, given)
}

/** What the commands without an operation do. Those that run command lines themselves are given `run`. */
const builtinCommands: Readonly<Record<BuiltinName, () => Promise<BuiltinCommand>>> = {
  help: async () => (await import('./help/help.ts')).helpCommand,
  tour: async () => (await import('./tour.ts')).tourCommand(run),
  shell: async () => (await import('./sandbox/shell.ts')).shellCommand,
  git: async () => (await import('./sandbox/git.ts')).gitCommand,
  forward: async () => (await import('./sandbox/forward.ts')).forwardCommand,
  init: async () => (await import('./init.ts')).initCommand,
  deinit: async () => (await import('./init.ts')).deinitCommand,
  hook: async () => (await import('./hook/hook.ts')).hookCommand,
  mcp: async () => (await import('./mcp/mcp.ts')).mcpCommand,
  serve: async () => (await import('./daemon/serve.ts')).serveCommand(run),
  completion: async () => (await import('./completion/completion.ts')).completionCommand,
  __names: async () => (await import('./completion/completion.ts')).namesCommand,
}

async function help(words: readonly string[], globals: Globals, io: Io): Promise<number> {
  const { helpCommand } = await import('./help/help.ts')
  return helpCommand(words, globals, io)
}

async function printVersion(globals: Globals, io: Io): Promise<number> {
  const { version } = await import('../version.ts')
  await io.stdout.write(globals.json ? `${JSON.stringify({ version: version() })}\n` : `aw ${version()}\n`)
  return 0
}

/** `--help` wins over everything else on the line, even over what would be an error. */
const asksForHelp = (own: readonly string[]): boolean => own.some((token) => token === '--help' || token === '-h')

function wordsOf(command: Command): string[] {
  if (command.kind === 'operation') return command.operation.name.split(' ')
  return [command.kind === 'builtin' ? command.builtin.name : command.group]
}

const withGlobals = (leading: ReadonlyMap<string, readonly string[]>, command: Command): Globals => ({
  ...readGlobals(leading),
  ...(command.rest.includes('--no-color') ? { noColor: true } : {}),
})
