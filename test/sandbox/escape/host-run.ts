/** Runs programs on the host as the user of an attack. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Ended, RunOptions } from './attack.ts'

const asUser = (uid: number, argv: readonly string[]): string[] =>
  process.getuid?.() === 0
    ? ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', ...argv]
    : [...argv]

export function startOnHost(
  uid: number,
  argv: readonly string[],
  cwd: string,
  { env = {}, leaked }: RunOptions = {},
): ChildProcess {
  const [program = '', ...args] = asUser(uid, argv)
  return spawn(program, args, {
    cwd,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C.UTF-8', ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore', ...(leaked === undefined ? [] : [leaked])],
  })
}

/** To its end, or for twenty seconds. */
export async function runOnHost(
  uid: number,
  argv: readonly string[],
  cwd: string,
  options?: RunOptions,
): Promise<Ended> {
  const child = startOnHost(uid, argv, cwd, options)
  const late = setTimeout(() => endGroup(child), 20_000)
  let bytes = 0
  child.stdout?.on('data', (chunk: Buffer) => (bytes += chunk.length))
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return { code, bytes }
  } finally {
    clearTimeout(late)
  }
}

/** What it started with it, as far as that has stayed with it. */
export function endGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}
