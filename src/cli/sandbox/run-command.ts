import type { Inputs, Outputs } from '../../api/table.ts'
import { inputFeed, sourceOf } from '../../client/command-input.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { Manager } from '../../ports/manager.ts'
import { reportError } from '../errors.ts'
import { cannotRun } from '../exit-codes.ts'
import type { Globals } from '../input/globals.ts'
import { ClosedOutput, type HandledSignal, type Io } from '../io.ts'
import { exitCodeOf, exitCodeOfFailure, exitCodeOfSignal, type Ended } from './exit-code.ts'
import { exitNotes, printNotes } from './notes.ts'

export type ExecInput = Inputs['exec']
type Item = Outputs['exec']

/** All that running a command needs of what is around it. */
export interface Session {
  readonly manager: Manager
  readonly globals: Globals
  readonly io: Io
}

export interface CommandOptions {
  /** Whether standard input is passed on. */
  readonly keys: boolean
  readonly tty: boolean
}

/** The command gets a terminal of the size of ours. */
export function withTerminalSize(input: ExecInput, io: Io): ExecInput {
  const term = io.env['TERM']
  const env = { ...(term === undefined ? {} : { TERM: term }), ...input.env }
  return { ...io.terminal.size(), ...input, env }
}

/** Runs one command; answers with the exit code that says how it ended. */
export async function runCommand(session: Session, input: ExecInput, options: CommandOptions): Promise<number> {
  const state: State = { started: false, interrupts: 0, written: 0, stop: new AbortController() }
  try {
    await follow(session, input, options, state)
  } catch (error) {
    // The reader of our output has gone: the command ends as it would have with that reader.
    if (error instanceof ClosedOutput) return exitCodeOfSignal('SIGPIPE')
    if (state.by === undefined && state.lost === undefined) return reportFailure(session, error, state.started)
  }
  const { exit, by, lost } = state
  if (lost !== undefined) return reportFailure(session, lost, false)
  if (exit === undefined) {
    if (by === undefined) return cannotRun
    return reportCancelled(session, by, state.started ? 'the command was ended' : 'the command was not started')
  }
  await printNotes(session, await exitNotes(session, input, exit, state.written))
  return exitCodeOf(exit)
}

interface State {
  started: boolean
  interrupts: number
  /** Bytes of its output. */
  written: number
  readonly stop: AbortController
  /** The signal that made us end it. */
  by?: HandledSignal
  /** Why its input could not be read; it is ended then. */
  lost?: unknown
  exit?: Ended
}

/** The terminal is as it was when this is over, whatever the end. */
async function follow(session: Session, input: ExecInput, { keys, tty }: CommandOptions, state: State): Promise<void> {
  const { manager, io } = session
  const { stop } = state
  const feed = inputFeed(keys ? io.input() : sourceOf(undefined), (error) => {
    state.lost = error
    stop.abort()
  })
  const push = (item: Parameters<typeof feed.push>[0]): void => void feed.push(item).catch(() => undefined)
  using taken = io.takeSignals(onSignal)
  using _ = tty && io.stdinIsTerminal ? await io.terminal.raw() : undefined

  function onSignal(name: HandledSignal): void {
    // Node learns of the new size by the same signal.
    if (name === 'SIGWINCH') return void (tty && setImmediate(() => push({ kind: 'resize', ...io.terminal.size() })))
    if (name === 'SIGINT' && state.started && state.interrupts++ === 0) return push({ kind: 'signal', signal: name })
    state.by ??= name
    stop.abort()
    // Whoever is still not content gets what every command does then.
    taken[Symbol.dispose]()
  }

  const stopped = Promise.withResolvers<never>()
  stopped.promise.catch(() => undefined)
  stop.signal.addEventListener('abort', () => setTimeout(() => stopped.reject(new Error('ended')), patience).unref())
  try {
    for await (const item of manager.stream('exec', input, { signal: stop.signal, input: feed.items })) {
      if (item.type === 'started') {
        state.started = true
        await printNotes(session, item.notes ?? [])
      }
      if (item.type === 'exit') state.exit = exitOf(item)
      if (item.data !== undefined) state.written += bytesOf(item).length
      // A reader that takes nothing must not keep us from ending.
      await Promise.race([writeItem(session, item), stopped.promise])
    }
  } finally {
    feed.close()
  }
}

const patience = 500

async function writeItem({ io, globals }: Session, item: Item): Promise<void> {
  if (globals.json) await io.stdout.flow(Buffer.from(jsonLine(item)))
  else if (item.type === 'stdout' || item.type === 'stderr') await io[item.type].flow(bytesOf(item))
}

/** Bytes are base64, as in every other door. */
export const jsonLine = (item: { readonly data?: Uint8Array | string | undefined }): string =>
  `${JSON.stringify(item.data === undefined ? item : { ...item, data: Buffer.from(bytesOf(item)).toString('base64') })}\n`

export const bytesOf = ({ data = '' }: { readonly data?: Uint8Array | string | undefined }): Uint8Array =>
  typeof data === 'string' ? Buffer.from(data, 'base64') : data

export const exitOf = ({
  code = null,
  signal = null,
  timed_out = false,
  output_cut = false,
  ...item
}: Item): Ended => ({
  code,
  signal,
  timed_out,
  output_cut,
  duration_ms: item.duration_ms ?? 0,
})

/** Says so, unless nobody takes it, and answers with the code of the signal that made us end it. */
export async function reportCancelled({ io, globals }: Session, by: HandledSignal, what: string): Promise<number> {
  const told = reportError(new AwError('aborted', `Cancelled; ${what}`), io, globals)
  await Promise.race([told, new Promise((resolve) => setTimeout(resolve, patience))])
  return exitCodeOfSignal(by)
}

/** Says why, and answers with the code that no program's own is taken for. */
export async function reportFailure({ io, globals }: Session, thrown: unknown, started = true): Promise<number> {
  await reportError(thrown, io, globals)
  const { code, data } = toAwError(thrown)
  // Where it was to start may be missing, too.
  return exitCodeOfFailure(code, started && 'program' in data)
}
