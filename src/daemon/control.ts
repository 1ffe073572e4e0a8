import { setTimeout as sleep } from 'node:timers/promises'
import { resolveHome, type OpenOptions } from '../aw.ts'
import { daemonAt, requestStop } from '../client/remote/daemon-at.ts'
import type { DaemonFacts } from '../domain/daemon.ts'
import { AwError, errorTable, type ErrorCode } from '../domain/errors.ts'
import { cliCommand } from '../sys/processes/cli-program.ts'
import { pathExists } from '../sys/fs/directories.ts'
import {
  daemonLogPath,
  daemonSocketPath,
  lockDaemon,
  logTail,
  shortSocketPath,
  startDetached,
} from '../sys/home/daemon-files.ts'
import { prepareHome } from '../sys/home/home.ts'

const startMs = 60_000
const stopMs = 60_000

/** What the daemon of a home tells of itself; undefined if none answers. */
export async function findDaemon(options: OpenOptions): Promise<DaemonFacts | undefined> {
  const { home } = await resolveHome(options)
  return pathExists(home) ? daemonAt(shortSocketPath(daemonSocketPath(home))) : undefined
}

/** Starts one that outlives this process, and waits until it takes requests. */
export async function detach(options: OpenOptions, args: readonly string[], signal: AbortSignal): Promise<DaemonFacts> {
  const { home } = await resolveHome(options)
  // It is made first: the way to a socket may lead over a descriptor of it.
  prepareHome(home, [])
  const socket = shortSocketPath(daemonSocketPath(home))
  if ((await daemonAt(socket)) !== undefined)
    throw new AwError('invalid_state', `A daemon serves ${home} already`, { hint: 'End it with: aw serve --stop' })
  const log = daemonLogPath(home)
  const child = startDetached([...cliCommand(), ...args], log)
  for (let waited = 0; waited < startMs; waited += 50) {
    await sleep(50, undefined, { signal })
    const found = await daemonAt(socket)
    if (found !== undefined) return found
    if (child.hasEnded()) throw notStarted(log)
  }
  throw new AwError('timeout', `The daemon does not answer after ${startMs / 1000} s`, {
    hint: `What it says is in ${log}`,
  })
}

/** As it would have told it to whoever stood before it. */
function notStarted(log: string): AwError {
  const last = logTail(log)
  const hint = `All of it is in ${log}`
  try {
    const told = JSON.parse(last) as { code: ErrorCode; message: string; hint?: string }
    if (Object.hasOwn(errorTable, told.code)) return new AwError(told.code, told.message, { hint: told.hint ?? hint })
  } catch {
    // It was no error of ours.
  }
  return new AwError('daemon_unavailable', `The daemon did not start: ${last}`, { hint })
}

/** Asks it to end, and waits until it has. False if there is none. */
export async function stopDaemon(options: OpenOptions, signal: AbortSignal): Promise<boolean> {
  const { home } = await resolveHome(options)
  if (!pathExists(home) || !(await requestStop(shortSocketPath(daemonSocketPath(home))))) return false
  for (let waited = 0; waited < stopMs; waited += 50) {
    using free = lockDaemon(home)
    if (free !== undefined) return true
    await sleep(50, undefined, { signal })
  }
  throw new AwError('timeout', 'The daemon has not ended yet', { hint: 'It waits for what is under way' })
}
