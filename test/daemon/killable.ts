import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectAw } from '../../src/client/main.ts'
import type { Manager } from '../../src/ports/manager.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { launcher, place, type Place } from '../cli/built-command.ts'
import { letGo } from '../storage/unmount-below.ts'

/** The built daemon as a child of the test: it can be killed at any moment, and started again in the same home. */
export interface KillableDaemon {
  readonly pid: number
  readonly socket: string
  /** All that it wrote to its log so far. A line may come after the answer that it tells of. */
  readonly log: () => string
  readonly ended: Promise<void>
  isGone(): boolean
  kill(): Promise<void>
  /** Open descriptors. */
  descriptors(): number
  /** Memory in use, in MB. */
  memory(): number
}

export interface KillableHome extends AsyncDisposable {
  readonly at: Place
  readonly home: string
  /** A folder to make workspaces from. */
  readonly source: string
  /** Waits until it serves; undefined if it died before. */
  start(crashAt?: string): Promise<KillableDaemon | undefined>
  /** One that must come up. */
  serve(): Promise<KillableDaemon>
  killAll(): Promise<void>
  /** A client of whichever daemon is there, closed with the home. */
  client(): Manager
}

/** Nothing is held back: what is tried here is the load and not the limits. */
const open = ['server.max_connections=4000', 'server.request_timeout_ms=1000', 'server.slow_reader_ms=700']

export function killableHome(settings: readonly string[] = []): KillableHome {
  const at = place()
  const { folder, home } = at
  const source = join(folder, 'source')
  mkdirSync(source)
  writeFileSync(join(source, 'README'), 'from the source\n')
  const living = new Set<KillableDaemon>()
  const clients: Manager[] = []

  async function start(crashAt?: string): Promise<KillableDaemon | undefined> {
    const set = [...open, ...settings].flatMap((one) => ['--set', one])
    const child = spawn(process.execPath, [launcher, ...set, '--json', 'serve'], {
      cwd: folder,
      env: { ...at.env, ...(crashAt !== undefined && { AW_CRASH_AT: crashAt }) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log: string[] = []
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => log.push(chunk))
    const ended = once(child, 'close').then(() => undefined)
    const first = once(createInterface({ input: child.stdout }), 'line')
    const line = await Promise.race([first, ended])
    if (line === undefined) {
      if (child.signalCode !== 'SIGKILL') throw new Error(`The daemon did not start: ${log.join('')}`)
      return undefined
    }
    const { pid, socket } = JSON.parse(String(line)) as { pid: number; socket: string }
    const daemon: KillableDaemon = {
      pid,
      socket,
      log: () => log.join(''),
      ended: ended.then(() => void living.delete(daemon)),
      isGone: () => !living.has(daemon),
      async kill() {
        child.kill('SIGKILL')
        await daemon.ended
      },
      descriptors: () => readdirSync(`/proc/${pid}/fd`).length,
      memory: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
    }
    living.add(daemon)
    return daemon
  }

  const killAll = async (): Promise<void> => {
    for (const daemon of living) await daemon.kill()
  }

  return {
    at,
    home,
    source,
    start,
    killAll,
    async serve() {
      const daemon = await start()
      if (daemon === undefined) throw new Error('The daemon was killed by somebody else')
      return daemon
    },
    client() {
      const { manager } = connectAw({ socket: join(home, 'aw.sock') })
      clients.push(manager)
      return manager
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client[Symbol.asyncDispose]()
      await killAll()
      if (existsSync(home)) await endBoxes(home)
      letGo(folder, ['--lazy'])
      at[Symbol.dispose]()
    },
  }
}

/** Waits until it holds; what does not come to be is seen in the message. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, ms = 20_000): Promise<void> {
  for (const begin = performance.now(); !(await holds()); await sleep(25))
    if (performance.now() - begin > ms) throw new Error(`It did not come to be that ${what}`)
}
