import type { Inputs, Outputs } from '../api/table.ts'
import { AwError, type ErrorCode } from '../domain/errors.ts'
import type { Exit, LimitName } from '../domain/sandbox/spec.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { inputFeed, sourceOf, type InputFeed, type Stdin } from './command-input.ts'
import type { ItemResult } from './forks.ts'
import { running, type Running } from './running.ts'

type Item = Outputs['exec']
type Fields = Inputs['exec']

/** Names as in the table of operations, in groups. */
export interface ExecOptions extends Pick<
  Fields,
  'cwd' | 'env' | 'isolation' | 'network' | 'allow' | 'shared' | 'agent' | 'mcp' | 'snapshot'
> {
  /** What it reads; nothing if left out. Read piece by piece, as it takes them. */
  readonly stdin?: Stdin | undefined
  /** Ends it after so long; its end is then `timed_out`. */
  readonly timeoutMs?: number | undefined
  /** Ends it, and all of its session, when it fires; `exit` then rejects with `aborted`. */
  readonly signal?: AbortSignal | undefined
  readonly limits?: Partial<Record<Exclude<LimitName, 'wall_ms'>, number>> | undefined
}

/** How a command ended. Any end is a result and not an error, unless the caller cancelled it. */
export interface CommandExit extends Exit {
  /** Its id, cmd_… */
  readonly command: string
  /** The snapshot of what it left, if that was kept. */
  readonly snapshot: string | null
}

export interface OutputChunk {
  readonly stream: 'stdout' | 'stderr'
  readonly data: Uint8Array
}

/** A command that runs. It has begun, whoever looks. */
export interface Execution {
  /**
   * What it writes, to be read once. A slow reader makes the command wait, and nothing piles up. A reader that leaves the
   * loop does not end the command: what else is written is thrown away. Throws what kept it from running.
   */
  readonly output: AsyncIterable<OutputChunk>
  /** Whoever waits for this without reading the output lets it be thrown away. */
  readonly exit: Promise<CommandExit>
  /** As `SIGINT`, to all of its foreground. */
  signal(name: string): void
  /** All of its output as text, and its end. */
  text(): Promise<{ readonly stdout: string; readonly stderr: string; readonly exit: CommandExit }>
}

export function execute(
  manager: Manager,
  id: string,
  argv: readonly string[],
  options: ExecOptions,
  context?: CallContext,
): Execution {
  const stop = new AbortController()
  const feed = inputFeed(sourceOf(options.stdin), (error) => stop.abort(error))
  const { output, end } = runningCommand(manager, { id, argv, ...fieldsOf(options) }, feed, stop, options, context)
  return {
    output,
    exit: end,
    signal: (name) => void feed.push({ kind: 'signal', signal: name }).catch(() => undefined),
    async text() {
      const parts: Record<OutputChunk['stream'], Uint8Array[]> = { stdout: [], stderr: [] }
      for await (const { stream, data } of output) parts[stream].push(data)
      return { stdout: decoded(parts.stdout), stderr: decoded(parts.stderr), exit: await end }
    },
  }
}

const decoded = (parts: readonly Uint8Array[]): string => Buffer.concat(parts).toString('utf8')

export function fieldsOf(options: ExecOptions): Omit<Fields, 'id' | 'all' | 'argv'> {
  const { stdin: _, signal: __, timeoutMs, limits, ...fields } = options
  return { ...fields, ...limits, ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }) }
}

/** One command, followed to its end. */
export function runningCommand(
  manager: Manager,
  input: Fields,
  feed: InputFeed,
  stop: AbortController,
  { signal }: Pick<ExecOptions, 'signal'>,
  context?: CallContext,
): Running<OutputChunk, CommandExit> {
  let exit: CommandExit | undefined
  const signals = [stop.signal, signal, context?.signal].filter((one) => one !== undefined)
  async function* items(): AsyncGenerator<Item> {
    try {
      yield* manager.stream('exec', input, { ...context, signal: AbortSignal.any(signals), input: feed.items })
    } catch (error) {
      // What made us end it is what the caller has to hear of.
      throw stop.signal.aborted ? stop.signal.reason : error
    } finally {
      feed.close()
    }
  }
  return running(
    items,
    (item) => {
      if (item.type === 'exit') exit = exitOf(item)
      return chunkOf(item)
    },
    () => {
      if (stop.signal.aborted) throw stop.signal.reason
      if (exit === undefined) throw new AwError('internal', 'The command ended, and nobody told how')
      return exit
    },
  )
}

/** A command in each live workspace of a task, all at once. */
export interface ExecutionOfAll {
  /** As of one command, with the name of the workspace. */
  readonly output: AsyncIterable<OutputChunk & { readonly workspace: string }>
  /** A result for each workspace; one that fails does not keep the others from going on. */
  readonly exits: Promise<ItemResult<CommandExit>[]>
}

export function executeAll(
  manager: Manager,
  task: string,
  argv: readonly string[],
  options: Omit<ExecOptions, 'stdin'>,
  context?: CallContext,
): ExecutionOfAll {
  const results: ItemResult<CommandExit>[] = []
  const signals = [options.signal, context?.signal].filter((one) => one !== undefined)
  const followed = { ...context, ...(signals.length > 0 && { signal: AbortSignal.any(signals) }) }
  const { output, end } = running(
    () => manager.stream('exec', { all: task, argv, ...fieldsOf(options) }, followed),
    (item) => {
      const { type, workspace, error } = item
      if (type === 'exit') results.push({ id: workspace, ok: true, result: exitOf(item) })
      if (type === 'failed') results.push({ id: workspace, ok: false, error: failure(error) })
      const chunk = chunkOf(item)
      return chunk === undefined ? undefined : { ...chunk, workspace }
    },
    () => results,
  )
  return { output, exits: end }
}

function chunkOf({ type, data }: Item): OutputChunk | undefined {
  if ((type !== 'stdout' && type !== 'stderr') || data === undefined) return undefined
  return { stream: type, data: typeof data === 'string' ? Buffer.from(data, 'base64') : data }
}

const exitOf = (item: Item): CommandExit => ({
  command: item.command ?? '',
  code: item.code ?? null,
  signal: item.signal ?? null,
  duration_ms: item.duration_ms ?? 0,
  peak_memory_bytes: item.peak_memory_bytes ?? 0,
  cpu_ms: item.cpu_ms ?? 0,
  timed_out: item.timed_out ?? false,
  output_cut: item.output_cut ?? false,
  ...(item.over_limit === true && { over_limit: true as const }),
  snapshot: item.snapshot ?? null,
})

const failure = (error: Item['error']): AwError =>
  new AwError((error?.code ?? 'internal') as ErrorCode, error?.message ?? 'It could not be run', {
    ...(error?.hint !== null && error?.hint !== undefined && { hint: error.hint }),
  })
