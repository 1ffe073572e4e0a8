import { spawn, type ChildProcess, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { AwError, toAwError } from '../../domain/errors.ts'
import { counted } from '../fs/crash-points.ts'
import { hasCode } from '../syscalls/errno.ts'

/**
 * Runs a program to its end: an argument array, never a shell; an environment that is given whole; no input. Any exit
 * but 0 is `aw_command_failed` with what the program said.
 */
export function run(program: string, args: readonly string[], options: RunOptions): Promise<{ stdout: string }> {
  return processes.run(program, args, options)
}

/**
 * Where PATH leads for a program, as an absolute path. A relative entry would depend on where we are, and neither an
 * entry nor what it leads to may lie in a directory of `avoid`: whoever works there could have put it there.
 */
export function findProgram(name: string, avoid: readonly string[] = []): string | undefined {
  const isSafe = isOutsideOf(avoid)
  return pathEntries(isSafe)
    .map((entry) => join(entry, name))
    .find((path) => isSafe(path) && isProgram(path))
}

/** PATH for a program that looks for others itself, without the entries in which none would be looked for by us. */
export const safePath = (avoid: readonly string[]): string => pathEntries(isOutsideOf(avoid)).join(':')

const pathEntries = (isSafe: (path: string) => boolean): string[] =>
  (process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin')
    .split(':')
    .filter((entry) => isAbsolute(entry) && isSafe(entry))

/** Tells whether a path neither is one of the directories nor leads into one. */
export function isOutsideOf(directories: readonly string[]): (path: string) => boolean {
  const avoided = directories.flatMap((path) => [path, realpathIfPresent(path) ?? path])
  const isOutside = (path: string): boolean => !avoided.some((outer) => path === outer || path.startsWith(`${outer}/`))
  return (path) => isOutside(realpathIfPresent(path) ?? path)
}

/** A program of the system's own, for what only root does: where it is installed, whatever PATH says. */
export const findSystemProgram = (name: string): string | undefined =>
  ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin']
    .map((directory) => join(directory, name))
    .find(isProgram) ?? findProgram(name)

function realpathIfPresent(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

interface RunOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** What it can read from its standard input. If making it fails, the program is ended and that is the failure. */
  readonly input?: string | Iterable<Uint8Array> | AsyncIterable<Uint8Array> | undefined
  /** Of its output: `latin1` keeps every byte. Without it, text. */
  readonly encoding?: 'utf8' | 'latin1' | undefined
  /** Open files that it inherits, as 3, 4, 5 … */
  readonly files?: readonly number[] | undefined
  /** Is given what it writes to stdout, as it comes; then none of that is kept. If it throws, as with `input`. */
  readonly onStdout?: ((bytes: Buffer) => void) | undefined
  /** Is told what it writes to stderr, as it comes. If it throws, as with `input`. */
  readonly onStderr?: ((text: string) => void) | undefined
  /** It is ended, `timeout`, when it has written nothing for so long. */
  readonly silentMs?: number | undefined
  /** How much of its output is kept; 64 KiB without it. Of stderr always the last 64 KiB. */
  readonly maxOutput?: number | undefined
  /** What is more is not thrown away: then the program is ended, and has failed. */
  readonly endsAtMax?: boolean | undefined
  /** It and all that it starts are ended together; they have no terminal, so none of them can ask anything. */
  readonly group?: boolean | undefined
}

const processes = counted({ run: start })

function start(path: string, args: readonly string[], options: RunOptions): Promise<{ stdout: string }> {
  const { timeoutMs, silentMs, signal, maxOutput = maxKept } = options
  const program = basename(path)
  const cancelled = (): AwError => new AwError('aborted', `${program} was cancelled`, { cause: signal?.reason })
  if (signal?.aborted) return Promise.reject(cancelled())
  return new Promise((resolve, reject) => {
    const limit = AbortSignal.timeout(timeoutMs)
    const silence = new AbortController()
    const ends = AbortSignal.any([limit, silence.signal, ...(signal === undefined ? [] : [signal])])
    const child = spawnWith(path, args, options)
    const end = (): void => endNow(child, options.group === true)
    ends.addEventListener('abort', end, { once: true })
    const watch = silentMs === undefined ? undefined : setTimeout(() => silence.abort(), silentMs)
    const output = { stdout: '', stderr: '' }
    let failure: Error | undefined
    /** What the caller's own part in it has thrown. */
    let thrown: unknown
    const giveUp = (error: unknown): void => {
      thrown ??= error
      end()
    }
    /** A listener that throws would end this process. */
    const tell = <T>(taker: (written: T) => void, written: T): void => {
      if (thrown !== undefined) return
      try {
        taker(written)
      } catch (error) {
        giveUp(error)
      }
    }
    const keep = (text: string): void => {
      watch?.refresh()
      output.stdout = (output.stdout + text).slice(0, maxOutput)
      if (options.endsAtMax !== true || output.stdout.length < maxOutput) return
      failure ??= new Error(`it printed more than ${maxOutput} bytes`)
      end()
    }
    const { onStdout, onStderr } = options
    if (onStdout) child.stdout.on('data', (bytes: Buffer) => tell(onStdout, bytes))
    else child.stdout.setEncoding(options.encoding ?? 'utf8').on('data', keep)
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      watch?.refresh()
      output.stderr = (output.stderr + text).slice(-maxKept)
      if (onStderr) tell(onStderr, text)
    })
    child.on('error', (error) => (failure = error))
    feed(child, options.input, giveUp)
    child.on('exit', () => letGo(child))
    // Not before the program is gone: what it still writes must not meet the caller's undoing.
    child.on('close', (code, killedBy) => {
      ends.removeEventListener('abort', end)
      clearTimeout(watch)
      if (signal?.aborted) return reject(cancelled())
      // One that is through was in time, also if we come to hear of it later: on a busy machine, or after a Ctrl-Z.
      if (limit.aborted && code !== 0)
        return reject(new AwError('timeout', `${program} took longer than ${timeoutMs} ms`))
      if (silence.signal.aborted) return reject(new AwError('timeout', `${program} did nothing for ${silentMs} ms`))
      if (thrown !== undefined) return reject(toAwError(thrown))
      if (failure !== undefined) return reject(failed(program, args, failure.message, null, failure))
      if (code === 0) return resolve({ stdout: output.stdout })
      reject(failed(program, args, output.stderr.trim() || `it ended by ${killedBy ?? `exit code ${code}`}`, code))
    })
  })
}

const maxKept = 65_536

function spawnWith(path: string, args: readonly string[], options: RunOptions): ChildProcessWithoutNullStreams {
  const { cwd, env, input, files = [], group = false } = options
  const stdin = input === undefined ? 'ignore' : 'pipe'
  const child = spawn(path, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe', ...files], detached: group })
  return child as ChildProcessWithoutNullStreams
}

/** One that ends without having read everything says itself why. */
function feed(child: ChildProcess, input: RunOptions['input'], onFailure: (error: unknown) => void): void {
  const { stdin } = child
  if (stdin === null) return
  stdin.on('error', () => undefined)
  if (input === undefined || typeof input === 'string') return void stdin.end(input)
  // Loaded by the first that needs it (2 ms).
  const { Readable } = process.getBuiltinModule('node:stream')
  const source = Readable.from(input, { objectMode: false }).on('error', onFailure)
  // Whoever makes it must not wait for a reader that is gone.
  stdin.on('close', () => source.destroy())
  source.pipe(stdin)
}

function endNow(child: ChildProcess, group: boolean): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  if (!group) return void child.kill('SIGKILL')
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

/**
 * What it has left running (a shared connection of ssh) may keep its output open: nobody waits for that. What it wrote
 * itself is read first, also if this process did not come to it all the time.
 */
function letGo(child: ChildProcess): void {
  const destroy = (): void => [child.stdout, child.stderr].forEach((stream) => stream?.destroy())
  const afterTurns = (turns: number): unknown => (turns === 0 ? destroy() : setImmediate(afterTurns, turns - 1))
  const timer = setTimeout(afterTurns, 2_000, turnsToRead)
  child.on('close', () => clearTimeout(timer))
}

/** In each turn of its loop Node reads up to 2 MiB of a stream: together far more than one holds unread. */
const turnsToRead = 16

function failed(
  program: string,
  args: readonly string[],
  message: string,
  exitCode: number | null,
  cause?: unknown,
): AwError {
  const missing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
  return new AwError(
    'aw_command_failed',
    missing ? `${program} is not installed` : `${program} ${args[0] ?? ''} failed: ${message}`,
    {
      hint: missing ? `Install ${program} and try again` : 'Run aw doctor to see what this machine can do',
      data: { exit_code: exitCode, message, program },
      cause,
    },
  )
}
