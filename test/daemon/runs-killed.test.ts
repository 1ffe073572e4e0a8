/** Many runs at once, and everybody who could be killed is: who waits for some, the daemon of others, the sandboxes of a few. */
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Outputs } from '../../src/api/table.ts'
import { endBoxes } from '../support/end-boxes.ts'
import { ownersOf } from '../sandbox/home.ts'
import { startDaemon, type Served } from './daemon.ts'

type Run = Outputs['runs'][number]

const numbers = Array.from({ length: 20 }, (_, at) => at)
const nameOf = (at: number): string => `many/a${at}`

/** Each waits to be told to go on, so that all are under way when the killing begins. */
const commandOf = (at: number): string[] => {
  const script = `echo ${at}; echo ${at} > who; while [ ! -e ../output/go ]; do sleep 0.05; done; exit ${exitOf(at)}`
  return ['sh', '-c', script]
}

const exitOf = (at: number): number => (at % 4 === 3 ? 1 : 0)

/** The first ten are asked for on the command line, the others of the daemon. */
const isKilled = {
  waiting: (at: number): boolean => at < 5,
  supervisor: (at: number): boolean => [0, 7, 12, 19].includes(at),
}

test('twenty runs end true, whoever of them, of those who wait and of those who serve was killed', async () => {
  const served = startDaemon()
  const { at: here } = served
  try {
    const children = numbers.slice(0, 10).map((at) => here.start('run', '--id', nameOf(at), '--', ...commandOf(at)))
    const ends = children.map((child) => once(child, 'exit'))
    const followed = numbers.slice(10).map((at) => follow(served, at))
    const fileOf = (at: number, name: string): string => join(here.home, 'workspaces', nameOf(at), name)
    await expect.poll(() => numbers.filter((at) => existsSync(fileOf(at, 'work/who'))).length, patient).toBe(20)
    expect(runsOf(here).filter(({ state }) => state === 'running')).toHaveLength(20)

    const boxes = new Map(listOf(here).map(({ workspace_id: name, sandbox }) => [name, sandbox?.id ?? '']))
    const { pid } = served
    for (const [at, child] of children.entries()) if (isKilled.waiting(at)) child.kill('SIGKILL')
    process.kill(pid, 'SIGKILL')
    for (const at of numbers.filter(isKilled.supervisor))
      process.kill(ownersOf(join(here.home, 'run', boxes.get(nameOf(at)) ?? '')).supervisor.pid, 'SIGKILL')
    await Promise.all(followed)
    for (const at of numbers) writeFileSync(fileOf(at, 'output/go'), '')
    await Promise.all(ends)
    await expect.poll(() => runsOf(here).filter(({ state }) => state === 'running'), patient).toEqual([])

    // Those of which nobody was left to write it down are told by who looks, and written down by who recovers.
    expect(here.aw('recover').code).toBe(0)
    expect(runsOf(here).filter(({ ended_at: end }) => end !== null)).toHaveLength(20)
    const ended = new Map(runsOf(here).map((run) => [run.workspace, run]))
    for (const at of numbers) {
      expect(ended.get(nameOf(at))).toMatchObject(
        isKilled.supervisor(at)
          ? { state: 'failed', exit: null, problem: { code: 'lost' } }
          : { state: exitOf(at) === 0 ? 'completed' : 'failed', exit: { code: exitOf(at) } },
      )
      expect(readFileSync(fileOf(at, 'work/who'), 'utf8')).toBe(`${at}\n`)
      expect(here.aw('logs', nameOf(at)).stdout).toBe(`${at}\n`)
    }
    expect(readdirSync(join(here.home, 'run')).filter((name) => name.startsWith('box_'))).toEqual([])
    expect(listOf(here).filter(({ sandbox }) => sandbox !== null)).toEqual([])
  } finally {
    await endBoxes(here.home)
    await served[Symbol.asyncDispose]()
  }
}, 120_000)

const patient = { timeout: 60_000, interval: 200 }

type Here = Served['at']

const runsOf = (here: Here): Run[] => told(here, 'runs') as Run[]

const listOf = (here: Here): Outputs['list'] => told(here, 'list') as Outputs['list']

function told(here: Here, ...words: string[]): unknown {
  const { code, stdout, stderr } = here.aw(...words, '--json')
  if (code !== 0) throw new Error(stderr)
  return JSON.parse(stdout)
}

/** Until the daemon is gone, or the run has ended. */
async function follow({ aw }: Served, at: number): Promise<void> {
  try {
    for await (const _ of aw.manager.stream('run', { id: nameOf(at), argv: commandOf(at) })) continue
  } catch {
    // The daemon was killed.
  }
}
