import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { builtInAgents } from '../../src/domain/agents/built-in.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { place, type Place, type Ran } from '../cli/built-command.ts'
import { installedAgent, type RealAgent } from './installed.ts'

export const key = 'sk-ant-api03-the-real-key-of-the-user'

/** A user with an agent, an empty home and nothing else in the environment but what a test puts there. */
export interface Stage extends AsyncDisposable {
  readonly here: Place
  /** While it runs, this process can answer it. */
  aw(args: readonly string[], input?: string): Promise<Ran>
  /** A profile of the user's own. */
  profile(name: string, content: object): void
}

export function stage(user: 'same' | 'ordinary', ...agents: readonly RealAgent[]): Stage {
  const here = place(user)
  here.env['PATH'] = [...agents.map(installedAgent), here.env['PATH']].join(':')
  return {
    here,
    async aw(args, input = '') {
      const child = here.start(...args)
      child.stdin.on('error', () => undefined)
      child.stdin.end(input)
      const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
      const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
      return { code, stdout, stderr }
    },
    profile(name, content) {
      here.sh('mkdir -p -m 700 "$AW_HOME/agents.d"')
      writeFileSync(join(here.home, 'agents.d', `${name}.json`), JSON.stringify(content))
    },
    async [Symbol.asyncDispose]() {
      await endBoxes(here.home)
      here[Symbol.dispose]()
    },
  }
}

/** The credential of a built-in profile, at another address. */
export const credentialAt = (agent: string, variable: string, upstream: string): object[] =>
  (builtInAgents[agent]?.credentials ?? [])
    .filter(({ from }) => 'variable' in from && from.variable === variable)
    .map(({ from, broker }) => ({ from, broker: { ...broker, upstream } }))
