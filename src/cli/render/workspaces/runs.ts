import type { Outputs } from '../../../api/table.ts'
import { columns, type Cell, type Row } from '../columns.ts'
import { lineOf } from './sandbox.ts'
import { age } from '../units.ts'
import type { Rendered, View } from '../view.ts'

type Run = Outputs['runs'][number]

export function runs(all: Outputs['runs'], view: View): Rendered {
  if (all.length === 0) return { out: '', note: 'Nothing was run yet. Begin: aw run --repo . --agent claude "…"' }
  if (view.quiet) return { out: all.map(({ workspace }) => workspace).join('\n') }
  const rows = all.map((run): Row => {
    const [number, state, ...end] = runCells(run, view)
    const asked = { text: view.terminal ? age(run.requested_at, view.now) : run.requested_at, paint: view.paint.dim }
    return [{ text: run.workspace, paint: view.paint.bold }, number, state, asked, ...end, whatOf(run)]
  })
  const right = (text: string) => ({ text, right: true as const })
  return {
    out: columns(['WORKSPACE', right('RUN'), 'STATE', 'ASKED', right('SECONDS'), right('EXIT'), 'WHAT'], rows, view),
  }
}

/** Its number, its state, how long it took or takes, and how it ended. */
export const runCells = (run: Run, view: View): [Cell, Cell, Cell, Cell] => [
  { text: String(run.number), right: true },
  { text: run.state, paint: paintOf(run, view) },
  { text: secondsOf(run, view), right: true },
  { text: run.exit?.signal ?? String(run.exit?.code ?? '-'), right: true },
]

/** How one run ended. */
export function run(one: Run, view: View): Rendered {
  const { workspace, number, problem } = one
  const why = problem === null ? '' : `: ${problem.message}`
  return { out: view.quiet ? '' : `${workspace}  run ${number} is ${paintOf(one, view)(one.state)}${why}`, named: true }
}

const paintOf = ({ state }: Run, { paint }: View) =>
  ({ pending: paint.yellow, running: paint.cyan, completed: paint.green, failed: paint.red, cancelled: paint.yellow })[
    state
  ]

function secondsOf({ exit, started_at: since, ended_at: end }: Run, { now }: View): string {
  if (exit?.duration_ms !== undefined) return (exit.duration_ms / 1000).toFixed(1)
  if (since === null || end !== null) return '-'
  return ((now - Date.parse(since)) / 1000).toFixed(0)
}

/** Who is to do what. */
export const whatOf = ({ agent, prompt, argv, argv_cut }: Run): string =>
  agent === null ? lineOf({ argv, argv_cut }) : [agent, prompt].filter((part) => part !== null).join(': ')
