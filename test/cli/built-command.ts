import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { inRoot } from '../../tools/root.ts'
import { compileCache } from '../package/compile-cache.ts'

export const launcher = inRoot('dist/aw.cjs')

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A folder with a home in it, and the built command to use there, as a program of its own. */
export interface Place extends Disposable {
  readonly folder: string
  readonly home: string
  readonly env: Record<string, string>
  aw(...args: readonly string[]): Ran
  awWith(input: string | Uint8Array, ...args: readonly string[]): Ran
  sh(script: string): Ran
  start(...args: readonly string[]): ChildProcessWithoutNullStreams
  /** The command on a terminal, with a person who does these steps: see programs/terminal.py. */
  onTerminal(steps: readonly Step[], ...args: readonly string[]): Seen
}

export interface Step {
  readonly until: string
  /** A line of shell, elsewhere. */
  readonly run?: string
  readonly type?: string
  readonly size?: readonly [rows: number, columns: number]
  readonly kill?: string
}

export interface Seen {
  readonly seen: string
  readonly exit: number
  /** The terminal was left as it had been. */
  readonly restored: boolean
  /** What was waited for in vain. */
  readonly missed: readonly string[]
}

/** Nobody in particular: an ordinary user. */
const ordinary = 65534
const asOrdinary = ['setpriv', `--reuid=${ordinary}`, `--regid=${ordinary}`, '--clear-groups']

/** @param user `ordinary` gives up root's rights if the tests have them */
export function place(user: 'same' | 'ordinary' = 'same'): Place {
  const drop = user === 'ordinary' && process.getuid?.() === 0
  const folder = mkdtempSync(join(tmpdir(), 'aw-cli-'))
  const home = join(folder, 'home')
  mkdirSync(join(folder, 'tmp'))
  if (drop) for (const path of [folder, join(folder, 'tmp')]) chownSync(path, ordinary, ordinary)
  const env: Record<string, string> = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    HOME: folder,
    // A command that runs for the first time compiles itself: here that was done before.
    XDG_CACHE_HOME: compileCache(drop ? ordinary : undefined),
    TMPDIR: join(folder, 'tmp'),
    AW_HOME: home,
    AW: launcher,
    TERM: 'xterm',
  }
  const prefix = drop ? asOrdinary : []
  const spawned = (command: readonly string[], input: string | Uint8Array): Ran => {
    const [file = '', ...args] = [...prefix, ...command]
    const { status, stdout, stderr } = spawnSync(file, args, {
      cwd: folder,
      env,
      input,
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    })
    return { code: status, stdout, stderr }
  }
  return {
    folder,
    home,
    env,
    aw: (...args) => spawned([process.execPath, launcher, ...args], ''),
    awWith: (input, ...args) => spawned([process.execPath, launcher, ...args], input),
    sh: (script) => spawned(['bash', '--norc', '-c', `aw() { node "$AW" "$@"; }\n${script}`], ''),
    start: (...args) => {
      const [file = '', ...rest] = [...prefix, process.execPath, launcher, ...args]
      return spawn(file, rest, { cwd: folder, env, stdio: 'pipe' })
    },
    onTerminal: (steps, ...args) => {
      const program = [...prefix, process.execPath, launcher, ...args]
      const played = [inRoot('test/support/programs/terminal.py'), '30', '100', ...program]
      const options = { cwd: folder, env, input: JSON.stringify(steps), encoding: 'utf8' } as const
      const { status, stdout, stderr } = spawnSync('python3', played, options)
      if (status !== 0) throw new Error(stderr)
      return JSON.parse(stdout) as Seen
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
