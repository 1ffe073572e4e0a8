import { spawn } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { basename, isAbsolute, join } from 'node:path'
import { AwError } from '../domain/errors.ts'
import { counted } from './crash-points.ts'

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
  const avoided = avoid.flatMap((path) => realpathIfPresent(path) ?? [])
  const isSafe = (path: string): boolean => !avoided.some((outer) => path === outer || path.startsWith(`${outer}/`))
  return (process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin')
    .split(':')
    .filter((entry) => isAbsolute(entry))
    .map((entry) => join(entry, name))
    .find((path) => [join(path, '..'), path].every((one) => isSafe(realpathIfPresent(one) ?? one)) && isProgram(path))
}

/** A program of the system's own, for what only root does: where it is installed, whatever PATH says. */
export const findSystemProgram = (name: string): string | undefined =>
  ['/usr/sbin', '/usr/bin', '/sbin', '/bin'].map((directory) => join(directory, name)).find(isProgram) ??
  findProgram(name)

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
}

const processes = counted({ run: start })

function start(path: string, args: readonly string[], options: RunOptions): Promise<{ stdout: string }> {
  const { cwd, env, timeoutMs, signal } = options
  const program = basename(path)
  return new Promise((resolve, reject) => {
    const limit = AbortSignal.timeout(timeoutMs)
    const child = spawn(path, args, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      killSignal: 'SIGKILL',
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout = keep(output.stdout, text)))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr = keep(output.stderr, text)))
    let failure: Error | undefined
    child.on('error', (error) => (failure = error))
    // Not before the program is gone: what it still writes must not meet the caller's undoing.
    child.on('close', (code, killedBy) => {
      if (signal?.aborted) return reject(new AwError('aborted', `${program} was cancelled`, { cause: signal.reason }))
      if (limit.aborted) return reject(new AwError('timeout', `${program} took longer than ${timeoutMs} ms`))
      if (failure !== undefined) return reject(failed(program, args, failure.message, null, failure))
      if (code === 0) return resolve({ stdout: output.stdout })
      reject(failed(program, args, output.stderr.trim() || `it ended by ${killedBy ?? `exit code ${code}`}`, code))
    })
  })
}

const keep = (before: string, text: string): string => (before + text).slice(0, 65_536)

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
