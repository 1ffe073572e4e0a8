import { commandAt, leadingGlobals, sortArguments } from './input/arguments.ts'
import { callOperation } from './call.ts'
import { flagged } from './builtins.ts'
import { findCommand, groupError, type Command } from './command.ts'
import { reportError } from './errors.ts'
import { commandField, type Flagged } from './input/flags.ts'
import { cannotRun } from './exit-codes.ts'
import { readGlobals, wantsJson, type Globals } from './input/globals.ts'
import { assertText, type Io } from './io.ts'

/** Runs one command line and answers with its exit code. Nothing is thrown, nothing is left running. */
export async function run(args: readonly string[], io: Io): Promise<number> {
  try {
    assertText(args)
    return await dispatch(args, io)
  } catch (error) {
    const { own, runs } = ownWords(args, io)
    const code = await reportError(error, io, { json: wantsJson(own), noColor: own.includes('--no-color') })
    // The smaller exit codes are those of the program that was to be run.
    return runs && code !== 0 && code < cannotRun ? cannotRun : code
  }
}

/** The words that are for us, and whether the others are a program to be run. */
function ownWords(args: readonly string[], io: Io): { own: readonly string[]; runs: boolean } {
  try {
    const { rest } = leadingGlobals(args)
    const command = findCommand(rest, io.table)
    const taking = takerOf(command)
    const before = args.length - command.rest.length
    const own = args.slice(0, before + commandAt(command.rest, taking))
    return { own, runs: taking !== undefined && commandField(taking) !== undefined }
  } catch {
    return { own: args, runs: false }
  }
}

function takerOf(command: Command): Flagged | undefined {
  if (command.kind === 'operation') return command.operation
  return command.kind === 'builtin' ? flagged(command.builtin) : undefined
}

async function dispatch(args: readonly string[], io: Io): Promise<number> {
  const leading = leadingGlobals(args)
  const globals = readGlobals(leading.globals)
  if (globals.version) return printVersion(globals, io)
  if (globals.help || leading.rest.length === 0) return help(leading.rest, globals, io)
  const command = findCommand(leading.rest, io.table)
  const taking = takerOf(command)
  if (asksForHelp(command.rest.slice(0, commandAt(command.rest, taking))))
    return help(wordsOf(command), withGlobals(leading.globals, command), io)
  if (command.kind === 'group') throw groupError(command.group, command.rest[0], io.table)

  const given = sortArguments(command.rest, taking)
  const all = readGlobals(mergeGlobals(leading.globals, given.globals))
  if (all.version) return printVersion(all, io)
  if (command.kind === 'operation') return callOperation(command.operation, given, all, io)
  const runBuiltin = await command.builtin.load()
  return runBuiltin(given.positionals, all, io, given)
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

export function mergeGlobals(
  first: ReadonlyMap<string, readonly string[]>,
  second: ReadonlyMap<string, readonly string[]>,
): Map<string, readonly string[]> {
  const merged = new Map(first)
  for (const [name, values] of second) merged.set(name, [...(merged.get(name) ?? []), ...values])
  return merged
}
