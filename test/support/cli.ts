import { operations, type OperationName, type Table } from '../../src/api/table.ts'
import type { CallContext, Manager } from '../../src/ports/manager.ts'
import type { ConnectOptions } from '../../src/cli/connect.ts'
import type { HandledSignal, Io, Output } from '../../src/cli/io.ts'
import { run } from '../../src/cli/run.ts'

/** What a fake core answers: by operation, a value or a function of the input. A thrown error is thrown. */
export type Answers = Readonly<Record<string, unknown>>

export interface Scene {
  readonly answers?: Answers
  readonly table?: Table
  readonly stdin?: string
  /** What comes on standard input, piece by piece. */
  readonly input?: AsyncIterable<Uint8Array>
  readonly stdinIsTerminal?: boolean
  /** Called with what sends a signal, as soon as somebody takes them. */
  readonly onTake?: (send: (name: HandledSignal) => void) => void
  readonly env?: Readonly<Record<string, string>>
  /** Whether output goes to a terminal. */
  readonly terminal?: boolean
  readonly cwd?: string
  readonly signal?: AbortSignal
  readonly now?: number
  /** The reader of standard output leaves after so many writes. */
  readonly stdout?: Omit<Output, 'flow'>
}

export interface Result {
  readonly exit: number
  readonly stdout: string
  readonly stderr: string
  readonly calls: readonly { name: string; input: unknown; context: CallContext | undefined }[]
  readonly connections: readonly ConnectOptions[]
  readonly disposed: number
  /** What became of the terminal. */
  readonly modes: readonly string[]
}

/** Runs a command line against a core that only remembers what it was asked. */
export async function runCli(args: readonly string[], scene: Scene = {}): Promise<Result> {
  const out: Uint8Array[] = []
  const err: Uint8Array[] = []
  const calls: { name: string; input: unknown; context: CallContext | undefined }[] = []
  const connections: ConnectOptions[] = []
  const modes: string[] = []
  let disposed = 0

  const answer = (name: string, input: unknown, context: CallContext | undefined): unknown => {
    calls.push({ name, input, context })
    const prepared = scene.answers?.[name]
    return typeof prepared === 'function'
      ? (prepared as (input: unknown, context: unknown) => unknown)(input, context)
      : prepared
  }
  const manager = {
    call: async (name: string, input: unknown, context?: CallContext) => answer(name, input, context),
    async *stream(name: string, input: unknown, context?: CallContext) {
      yield* answer(name, input, context) as AsyncIterable<unknown>
    },
    [Symbol.asyncDispose]: async () => void disposed++,
  } as unknown as Manager

  const io: Io = {
    stdout: scene.stdout === undefined ? output(out, scene.terminal ?? false) : flowing(scene.stdout),
    stderr: output(err, scene.terminal ?? false),
    stdin: async () => new TextEncoder().encode(scene.stdin ?? ''),
    input: () => scene.input ?? once(new TextEncoder().encode(scene.stdin ?? '')),
    stdinIsTerminal: scene.stdinIsTerminal ?? false,
    terminal: {
      size: () => ({ columns: 100, rows: 30 }),
      raw: async () => {
        modes.push('raw')
        return { [Symbol.dispose]: () => void modes.push('restored') }
      },
    },
    takeSignals: (handler) => {
      scene.onTake?.(handler)
      return { [Symbol.dispose]: () => undefined }
    },
    env: scene.env ?? {},
    cwd: scene.cwd ?? '/somewhere',
    now: () => scene.now ?? Date.parse('2030-01-01T00:00:00.000Z'),
    signal: scene.signal ?? new AbortController().signal,
    connect: async (options) => {
      connections.push(options)
      return manager
    },
    table: scene.table ?? operations,
  }
  const exit = await run(args, io)
  return { exit, stdout: text(out), stderr: text(err), calls, connections, disposed, modes }
}

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  if (chunk.length > 0) yield chunk
}

const flowing = (given: Omit<Output, 'flow'>): Output => ({ ...given, flow: (chunk) => given.write(chunk) })

const output = (chunks: Uint8Array[], isTerminal: boolean): Output => ({
  isTerminal,
  columns: 100,
  write: async (chunk) => void chunks.push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk),
  flow: async (chunk) => void chunks.push(chunk),
})

const text = (chunks: readonly Uint8Array[]): string => Buffer.concat(chunks).toString('utf8')

export const people: Scene = { terminal: true, env: { NO_COLOR: '1' } }

/** What `aw` prints when the core answers so. */
export async function shown(args: readonly string[], output: unknown, scene: Scene = people): Promise<Result> {
  const line = args.join(' ')
  const fits = operations.map(({ name }): OperationName => name).filter((name) => `${line} `.startsWith(`${name} `))
  const longest = fits.toSorted((a, b) => b.length - a.length)[0] ?? ''
  return runCli(args, { ...scene, answers: { [longest]: output } })
}

export const snapshotId = (letter: string): string => `snap_${letter.repeat(26)}`

/** A workspace as the core would show it. */
export const sampleWorkspace = (more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  workspace_id: 'fix-login/claude',
  id: 'ws_01',
  task: 'fix-login',
  agent: 'claude',
  state: 'ready',
  path: '/home/u/workspaces/fix-login/claude',
  profile: 'aw',
  source: { kind: 'empty' },
  config: { max_size_mb: 1000 },
  labels: {},
  driver: 'dir',
  generation: 1,
  created_at: '2029-12-31T22:00:00.000Z',
  updated_at: '2029-12-31T22:00:00.000Z',
  operation: null,
  problem: null,
  trash: [],
  head: null,
  branch: 'main',
  branches: { main: null },
  base: null,
  sandbox: null,
  commands: 0,
  snapshots: 0,
  expires_at: null,
  archives: [],
  imported: null,
  size_bytes: 1536,
  size_complete: true,
  ...more,
})
