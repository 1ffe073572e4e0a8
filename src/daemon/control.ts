import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { settle, type OpenOptions } from '../aw.ts'
import { wire, type Reply } from '../client/remote/wire.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import { prepareHome } from '../sys/home.ts'
import { cliCommand } from '../sys/cli-program.ts'
import {
  logTail,
  reachable,
  readRecord,
  socketOf,
  startDetached,
  takeHome,
  type DaemonRecord,
} from '../sys/daemon-place.ts'

const headers = { host: 'localhost' }
const startMs = 60_000
const stopMs = 60_000

export interface FoundDaemon extends DaemonRecord {
  readonly ready: boolean
}

/** The daemon of a home; undefined if none answers. */
export async function findDaemon(options: OpenOptions): Promise<FoundDaemon | undefined> {
  const { home } = await settle(options)
  return daemonOf(home)
}

async function daemonOf(home: string): Promise<FoundDaemon | undefined> {
  const record = readRecord(home)
  if (record === undefined) return undefined
  const reply = await ask(home, 'GET', '/api/ready')
  return reply === undefined ? undefined : { ...record, ready: reply.status === 200 }
}

async function ask(home: string, method: string, path: string): Promise<Reply | undefined> {
  using line = wire({ socket: reachable(socketOf(home)) })
  try {
    const reply = await line.send({ method, path, headers })
    for await (const _ of reply.body);
    return reply
  } catch (error) {
    if (toAwError(error).code === 'daemon_unavailable') return undefined
    throw error
  }
}

/** Starts one that outlives this process, and waits until it takes requests. */
export async function detach(options: OpenOptions, args: readonly string[], signal: AbortSignal): Promise<FoundDaemon> {
  const { home } = await settle(options)
  const known = await daemonOf(home)
  if (known !== undefined)
    throw new AwError('invalid_state', `A daemon serves ${home} already`, { hint: 'End it with: aw serve --stop' })
  prepareHome(home, [])
  const log = join(home, 'daemon.log')
  const child = startDetached([...cliCommand(), ...args], log)
  for (let waited = 0; waited < startMs; waited += 50) {
    await sleep(50, undefined, { signal })
    const found = await daemonOf(home)
    if (found?.ready === true) return found
    if (child.hasEnded())
      throw new AwError('daemon_unavailable', `The daemon did not start: ${logTail(log)}`, {
        hint: `All of it is in ${log}`,
      })
  }
  throw new AwError('timeout', `The daemon does not answer after ${startMs / 1000} s`, {
    hint: `What it says is in ${log}`,
  })
}

/** Asks it to end, and waits until it has. False if there is none. */
export async function stopDaemon(options: OpenOptions, signal: AbortSignal): Promise<boolean> {
  const { home } = await settle(options)
  const reply = await ask(home, 'POST', '/api/daemon/stop')
  if (reply === undefined) return false
  for (let waited = 0; waited < stopMs; waited += 50) {
    using free = takeHome(home)
    if (free !== undefined) return true
    await sleep(50, undefined, { signal })
  }
  throw new AwError('timeout', 'The daemon has not ended yet', { hint: 'It waits for what is under way' })
}
