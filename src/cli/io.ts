import { isUtf8 } from 'node:buffer'
import { fstatSync, read, readFileSync, writeSync } from 'node:fs'
import { operations, type Table } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import { connect, type Connect } from './connect.ts'

/** Everything a command may touch of the process around it. Tests and the tour give their own. */
export interface Io {
  readonly stdout: Output
  readonly stderr: Output
  /** All of standard input. */
  readonly stdin: (signal: AbortSignal) => Promise<Uint8Array>
  /** Standard input as it comes; no more of it is held than was asked for. */
  readonly input: () => AsyncIterable<Uint8Array>
  readonly stdinIsTerminal: boolean
  readonly terminal: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly now: () => number
  /** Fires at Ctrl-C and when the process is asked to end. */
  readonly signal: AbortSignal
  /** Until it is disposed of, signals come here and `signal` does not fire. */
  readonly takeSignals: (handler: (name: HandledSignal) => void) => Disposable
  readonly connect: Connect
  readonly table: Table
}

export type HandledSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGWINCH'

/** The terminal that people type on, where there is one. */
export interface Terminal {
  /** Of its window; 80 by 24 where that is not known. */
  size(): { readonly columns: number; readonly rows: number }
  /** Every key is passed on as it is, none is shown, and what is written is not changed, until it is disposed of. */
  raw(): Promise<Disposable>
}

export interface Output {
  readonly isTerminal: boolean
  readonly columns: number
  /** Resolves when the chunk is on its way; rejects with `ClosedOutput` when nobody reads any more. */
  write(chunk: string | Uint8Array): Promise<void>
  /** The same for much of it: a reader that is slow is waited for without holding up anything else. */
  flow(chunk: Uint8Array): Promise<void>
}

/** The reader of our output has gone, as `head` does. Not a failure: we stop quietly. */
export class ClosedOutput extends Error {}

/**
 * Arguments are bytes, and reach us as text: what is none has another sign in its place by then, and would name another
 * file than was meant.
 */
export function assertText(args: readonly string[]): void {
  if (!args.some((word) => word.includes('\ufffd')) || process.platform !== 'linux') return
  if (isUtf8(readFileSync('/proc/self/cmdline'))) return
  throw new AwError('invalid_input', 'An argument is not text: it has bytes that are not UTF-8', {
    hint: 'Name it by a pattern in the sandbox, as with: aw exec ID -- sh -c "ls -d dir/*"',
  })
}

export function processIo(): Io {
  return {
    stdout: output(1, () => process.stdout),
    stderr: output(2, () => process.stderr),
    stdin: readStdin,
    input: () => (isPlain(0) ? piecesOf(0) : (process.stdin as AsyncIterable<Uint8Array>)),
    terminal: { size: windowSize, raw: rawMode },
    get stdinIsTerminal() {
      return isTerminal(0)
    },
    env: process.env,
    get cwd() {
      try {
        return process.cwd()
      } catch {
        // It was removed under us; absolute paths still mean something.
        return ''
      }
    },
    now: () => Date.now(),
    ...interruption(),
    connect,
    table: operations,
  }
}

/** Node's streams and its terminal module take longer to load than most commands run, so they wait for a need. */
function output(descriptor: number, stream: () => NodeJS.WriteStream): Output {
  return {
    get isTerminal() {
      return isTerminal(descriptor)
    },
    get columns() {
      return stream().columns || 80
    },
    write: (chunk) =>
      translateWriteError(async () => {
        const rest = writeNow(descriptor, typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
        if (rest.length > 0) await writeLater(stream(), rest)
      }),
    flow: (chunk) => translateWriteError(() => writeLater(stream(), chunk)),
  }
}

async function translateWriteError(write: () => Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (isErrno(error, 'ENOSPC')) throw outputFull(error)
    throw isErrno(error, 'EPIPE') ? new ClosedOutput('EPIPE', { cause: error }) : error
  }
}

const outputFull = (cause: unknown): AwError =>
  new AwError('disk_full', 'The output could not be written: the disk that it goes to is full', {
    hint: 'Make room there, or send it elsewhere; what was asked for may have been done all the same: see aw events',
    cause,
  })

/** Nearly always told by what is open there alone: a file, a pipe, /dev/null, a pseudo-terminal. */
function isTerminal(descriptor: number): boolean {
  try {
    const found = fstatSync(descriptor)
    if (!found.isCharacterDevice()) return false
    const kind = linuxDevice(found.rdev)
    return kind === undefined ? process.getBuiltinModule('node:tty').isatty(descriptor) : kind === 'terminal'
  } catch {
    return false
  }
}

/** A file or /dev/null, which never lets a reader wait. */
function isPlain(descriptor: number): boolean {
  try {
    const found = fstatSync(descriptor)
    return found.isFile() || (found.isCharacterDevice() && linuxDevice(found.rdev) === 'memory')
  } catch {
    return false
  }
}

const pieceBytes = 64 * 1024

/** The stream that Node has for files takes 3 ms to load. */
async function* piecesOf(descriptor: number): AsyncGenerator<Uint8Array> {
  for (;;) {
    const piece = await new Promise<Uint8Array>((resolve, reject) => {
      read(descriptor, Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, null, (error, count, buffer) =>
        error === null ? resolve(buffer.subarray(0, count)) : reject(error),
      )
    })
    if (piece.length === 0) return
    yield piece
  }
}

/** By the number of its driver: 1 has /dev/null and its like, 136 to 143 are pseudo-terminals. */
function linuxDevice(device: number): 'terminal' | 'memory' | undefined {
  if (process.platform !== 'linux') return undefined
  const driver = (device >> 8) & 0xfff
  if (driver === 1) return 'memory'
  return driver >= 136 && driver <= 143 ? 'terminal' : undefined
}

/** Writes as much as the other side takes at once and answers with the rest. */
function writeNow(descriptor: number, chunk: Uint8Array): Uint8Array {
  let rest = chunk
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest))
  } catch (error) {
    if (!isErrno(error, 'EAGAIN')) throw error
  }
  return rest
}

const writeLater = (stream: NodeJS.WriteStream, chunk: Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => {
    // The callback tells of failures; without a listener they would also end the process with a stack.
    if (stream.listenerCount('error') === 0) stream.on('error', () => undefined)
    stream.write(chunk, (error) => (error ? reject(error) : resolve()))
  })

const isErrno = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code

async function readStdin(signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  // Whoever types may change their mind: the signal ends the waiting.
  const stop = (): void => void process.stdin.destroy(signal.reason as Error)
  signal.addEventListener('abort', stop)
  try {
    signal.throwIfAborted()
    for await (const chunk of process.stdin) chunks.push(chunk as Uint8Array)
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return Buffer.concat(chunks)
}

/** The first signal asks the command to stop and undo what it began; the second ends the process as it stands. */
function interruption(): Pick<Io, 'signal' | 'takeSignals'> {
  const controller = new AbortController()
  let taker: ((name: HandledSignal) => void) | undefined
  const onSignal = (name: HandledSignal): void => {
    if (taker !== undefined) return taker(name)
    if (controller.signal.aborted) process.exit(130)
    controller.abort(new AwError('aborted', 'Stopped before it was done'))
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal)
  const takeSignals: Io['takeSignals'] = (handler) => {
    taker = handler
    for (const name of ['SIGHUP', 'SIGWINCH'] as const) process.on(name, onSignal)
    return {
      [Symbol.dispose]: () => {
        taker = undefined
        for (const name of ['SIGHUP', 'SIGWINCH'] as const) process.removeListener(name, onSignal)
      },
    }
  }
  return { signal: controller.signal, takeSignals }
}

function windowSize(): { columns: number; rows: number } {
  for (const { columns, rows } of [process.stdout, process.stderr])
    if (columns > 0 && rows > 0) return { columns, rows }
  return { columns: 80, rows: 24 }
}

/** Node puts the terminal in order at its end, whatever the end is; this is for what comes before. */
async function rawMode(): Promise<Disposable> {
  const { stdin } = process
  stdin.setRawMode(true)
  const { writeUntranslated } = await import('../aw.ts')
  writeUntranslated()
  return { [Symbol.dispose]: () => void stdin.setRawMode(false) }
}
