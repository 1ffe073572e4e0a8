import { isatty } from 'node:tty'
import { operations, type Table } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import { connect, type Connect } from './connect.ts'

/** Everything a command may touch of the process around it. Tests and the tour give their own. */
export interface Io {
  readonly stdout: Output
  readonly stderr: Output
  /** All of standard input. */
  readonly stdin: () => Promise<Uint8Array>
  readonly stdinIsTerminal: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly now: () => number
  /** Fires at Ctrl-C and when the process is asked to end. */
  readonly signal: AbortSignal
  readonly connect: Connect
  readonly table: Table
}

export interface Output {
  readonly isTerminal: boolean
  readonly columns: number
  /** Resolves when the chunk is on its way; rejects with `ClosedOutput` when nobody reads any more. */
  write(chunk: string | Uint8Array): Promise<void>
}

/** The reader of our output has gone, as `head` does. Not a failure: we stop quietly. */
export class ClosedOutput extends Error {}

export function processIo(): Io {
  return {
    stdout: output(1, () => process.stdout),
    stderr: output(2, () => process.stderr),
    stdin: readStdin,
    get stdinIsTerminal() {
      return isatty(0)
    },
    env: process.env,
    get cwd() {
      return process.cwd()
    },
    now: () => Date.now(),
    signal: interruption(),
    connect,
    table: operations,
  }
}

/** The streams of the process are made on first use: they cost time, and many commands need only one of them. */
function output(descriptor: number, open: () => NodeJS.WriteStream): Output {
  let stream: NodeJS.WriteStream | undefined
  const get = (): NodeJS.WriteStream => {
    // The callback of `write` tells of failures; without a listener they would also end the process with a stack.
    stream ??= open().on('error', () => undefined)
    return stream
  }
  return {
    get isTerminal() {
      return isatty(descriptor)
    },
    get columns() {
      return get().columns || 80
    },
    write: (chunk) =>
      new Promise((resolve, reject) => {
        get().write(chunk, (error) => (error ? reject(writeError(error)) : resolve()))
      }),
  }
}

const writeError = (error: Error): Error =>
  'code' in error && error.code === 'EPIPE' ? new ClosedOutput(error.message) : error

async function readStdin(): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array)
  return Buffer.concat(chunks)
}

/** The first signal asks the command to stop and undo what it began; the second ends the process as it stands. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(130)
    controller.abort(new AwError('aborted', 'Stopped before it was done'))
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal)
  return controller.signal
}
