import type { Operation } from '../api/operation.ts'
import { AwError, toAwError, type ErrorCode } from '../domain/errors.ts'
import type { CallContext, Manager, Progress } from '../ports/manager.ts'
import type { Arguments } from './input/arguments.ts'
import { paint, wantsColor } from './output/color.ts'
import { connectOptions } from './connect.ts'
import { errorObject, humanError } from './errors.ts'
import { explainError } from './help/explain.ts'
import type { Globals } from './input/globals.ts'
import { inputsOf } from './input/input.ts'
import { ClosedOutput, type Io } from './io.ts'
import { progressLine, type ProgressLine } from './output/progress.ts'
import { rendererFor, streamRendererFor } from './render/renderers.ts'
import type { Rendered, Renderer, View } from './render/view.ts'
import { exitCodeForOutput, textOutputDefaults } from './output/exit-code.ts'

type Input = Record<string, unknown>

/** All that the steps of one command share. */
interface Session {
  readonly operation: Operation
  readonly globals: Globals
  readonly io: Io
  readonly manager: Manager
  readonly context: CallContext
  readonly progress: ProgressLine | undefined
  readonly told: ReadonlySet<string>
}

export type OperationHandler = (operation: Operation, given: Arguments, globals: Globals, io: Io) => Promise<number>

/** Those that bytes and signals flow through in both directions. */
const customHandlers: Readonly<Record<string, () => Promise<OperationHandler>>> = {
  exec: async () => (await import('./sandbox/exec.ts')).execHandler,
  connect: async () => (await import('./sandbox/connect.ts')).connectHandler,
  run: async () => (await import('./runs/run.ts')).runHandler,
  status: async () => (await import('./runs/status.ts')).statusHandler,
  logs: async () => (await import('./runs/logs.ts')).logsHandler,
  'fs download': async () => (await import('./input/file-streams.ts')).downloadHandler,
}

export const hasCustomHandler = (name: string): boolean => Object.hasOwn(customHandlers, name)

/** Calls the operation for each of its inputs and shows what comes back. */
export async function callOperation(operation: Operation, given: Arguments, globals: Globals, io: Io): Promise<number> {
  const handler = await customHandlers[operation.name]?.()
  if (handler !== undefined) return handler(operation, given, globals, io)
  const inputs = await inputsOf(operation, given, io)
  const { json, quiet } = globals
  await using manager = await io.connect(connectOptions(globals, io))
  using progress = progressLine(io, quiet)
  const told = new Set<string>()
  const onProgress = (news: Progress): void => {
    if (news.made === undefined || json) return progress?.show(news)
    // What is there is told at once: whoever stops the command must know of it.
    progress?.clear()
    told.add(news.made.name)
    void io.stdout.write(`${news.made.path ?? news.made.name}\n`).catch(() => undefined)
  }
  const input = operation.takes === 'bytes' ? (await import('./input/file-streams.ts')).stdinBytes(io) : undefined
  const context: CallContext = { signal: io.signal, onProgress, input }
  const session: Session = { operation, globals, io, manager, context, progress, told }
  const full = json
    ? inputs
    : inputs.map((input) => ({
        ...textOutputDefaults(operation.name, { quiet, terminal: io.stdout.isTerminal }),
        ...input,
      }))
  const [only = {}] = full
  if (operation.form === 'stream') return await showStream(session, only)
  return await (full.length === 1 ? callOne(session, only) : callMany(session, full))
}

async function callOne(session: Session, input: Input): Promise<number> {
  const { operation, globals, io } = session
  const output = await call(session, input)
  if (globals.json) await io.stdout.write(jsonText(output, io))
  else await show(session, await rendererFor(operation), output, input)
  return exitCodeForOutput(operation.name, output)
}

/** Each item succeeds or fails on its own; the exit code is that of the first failure. */
async function callMany(session: Session, inputs: readonly Input[]): Promise<number> {
  const { operation, globals, io } = session
  const renderer = await rendererFor(operation)
  const field = operation.positional[0] ?? 'id'
  const results: unknown[] = []
  let exitCode = 0
  for (const input of inputs) {
    const name = String(input[field])
    try {
      const output = await call(session, input)
      results.push({ id: name, ok: true, result: output })
      exitCode ||= exitCodeForOutput(operation.name, output)
      if (!globals.json) await show(session, renderer, output, input, name)
    } catch (thrown) {
      if (io.signal.aborted) throw thrown
      // Nobody reads what comes of it; it was asked for all the same.
      if (thrown instanceof ClosedOutput) continue
      const error = toAwError(thrown)
      results.push({ id: name, ok: false, error: errorObject(error) })
      exitCode ||= error.exitCode
      if (!globals.json) await printError(session, error)
    }
  }
  if (globals.json) await io.stdout.write(jsonText(results, io))
  return exitCode
}

async function showStream(session: Session, input: Input): Promise<number> {
  const { operation, globals, io, manager, context } = session
  const renderer = globals.json ? undefined : await streamRendererFor(operation)
  try {
    for await (const item of manager.stream(
      operation.name as never,
      input as never,
      context,
    ) as AsyncIterable<unknown>) {
      if (renderer === undefined) await io.stdout.write(`${JSON.stringify(item)}\n`)
      else await show(session, renderer.item, item, input)
    }
    if (renderer?.end !== undefined) await printRendered(session, renderer.end(viewOf(session, input)))
  } catch (error) {
    if (!io.signal.aborted) throw error
  }
  // Ctrl-C is how one stops following: no message, only the customary code.
  return io.signal.aborted ? 130 : 0
}

async function call({ manager, operation, context, progress, io }: Session, input: Input): Promise<unknown> {
  try {
    return await manager.call(operation.name as never, input as never, context)
  } catch (error) {
    throw explainError(operation, input, toAwError(error), io) ?? error
  } finally {
    progress?.clear()
  }
}

const viewOf = ({ globals, io, told }: Session, input: Input): View => ({
  paint: paint(wantsColor(io.stdout.isTerminal, io.env, globals.noColor)),
  terminal: io.stdout.isTerminal,
  // Node opens its stream for that, and only a table asks.
  get columns() {
    return io.stdout.isTerminal ? io.stdout.columns : Infinity
  },
  quiet: globals.quiet,
  now: io.now(),
  input,
  told,
})

const show = (session: Session, renderer: Renderer, output: unknown, input: Input, name?: string): Promise<void> =>
  printRendered(session, renderer(output as never, viewOf(session, input)), name)

async function printRendered(
  session: Session,
  { out, named, note, notice, warning, failures = [] }: Rendered,
  name?: string,
): Promise<void> {
  const { globals, io } = session
  const label = name === undefined || named === true || out === '' ? '' : `${name}${io.stdout.isTerminal ? '  ' : '\t'}`
  if (typeof out !== 'string') await io.stdout.write(out)
  else if (out !== '') await io.stdout.write(`${label}${out}\n`)
  if (warning !== undefined) await io.stderr.write(`aw: ${warning}\n`)
  for (const { code, message, hint } of failures) {
    await printError(session, new AwError(code as ErrorCode, message, hint === null ? {} : { hint }))
  }
  const last = notice ?? (io.stderr.isTerminal ? note : undefined)
  if (last !== undefined && !globals.quiet) {
    await io.stderr.write(`${paint(wantsColor(io.stderr.isTerminal, io.env, globals.noColor)).dim(last)}\n`)
  }
}

const printError = async ({ io, globals }: Session, error: AwError): Promise<void> =>
  io.stderr.write(humanError(error, io, globals.noColor))

/** One line for programs, indented for people. Bytes are base64, as in every other door. */
const jsonText = (output: unknown, io: Io): string =>
  `${JSON.stringify(output instanceof Uint8Array ? base64(output) : output, bytesAsText, io.stdout.isTerminal ? 2 : 0)}\n`

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const bytesAsText = (_: string, value: unknown): unknown => (value instanceof Uint8Array ? base64(value) : value)
