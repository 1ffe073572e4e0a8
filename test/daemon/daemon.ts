import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectAw } from '../../src/client/main.ts'
import type { Aw } from '../../src/client/facade.ts'
import { processOwner } from '../../src/sys/processes/process.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { place, type Place } from '../cli/built-command.ts'

/** A home with its daemon, as a program of its own, both gone at the end of the test. */
export interface Served extends AsyncDisposable {
  readonly at: Place
  readonly pid: number
  readonly url: string | undefined
  /** Over the socket, as the user of the home. */
  readonly aw: Aw
  /** Waits for its end. */
  end(): Promise<void>
}

export interface ServeOptions {
  readonly at?: Place
  readonly user?: 'same' | 'ordinary'
  readonly listen?: string
  readonly set?: readonly string[]
}

/** One that has ended and whom nobody has missed yet is none. */
export const isAlive = (pid: number): boolean => processOwner(pid) !== undefined

interface Started {
  readonly pid: number
  readonly socket: string
  readonly listen: string | null
}

export function startDaemon({ user = 'same', at = place(user), listen, set = [] }: ServeOptions = {}): Served {
  const settings = set.flatMap((one) => ['--set', one])
  const where = listen === undefined ? [] : ['--listen', listen]
  const { code, stdout, stderr } = at.aw(...settings, '--json', 'serve', '--detach', ...where)
  if (code !== 0) throw new Error(`The daemon did not start: ${stderr}${stdout}`)
  const { pid, socket, listen: url } = JSON.parse(stdout) as Started
  const aw = connectAw({ socket })
  const end = async (): Promise<void> => {
    await aw[Symbol.asyncDispose]()
    at.aw('serve', '--stop')
    for (let waited = 0; isAlive(pid) && waited < 10_000; waited += 10) await sleep(10)
  }
  return {
    at,
    pid,
    url: url ?? undefined,
    aw,
    end,
    async [Symbol.asyncDispose]() {
      await end()
      if (existsSync(at.home)) await endBoxes(at.home)
      at[Symbol.dispose]()
    },
  }
}
