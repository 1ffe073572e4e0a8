import type { Inputs, Outputs } from '../../api/table.ts'
import { paint, wantsColor } from '../output/color.ts'
import { columns, type Row } from '../render/columns.ts'
import { count } from '../render/units.ts'
import type { Session } from '../sandbox/run-command.ts'
import { visible } from '../../domain/text/visible.ts'

export type EndedItem = Outputs['run']
type Run = NonNullable<EndedItem['run']>
type Input = Inputs['run']

/** Where it runs: at once, as it may take long. */
export async function printStarted({ io, globals }: Session, input: Input, item: EndedItem): Promise<void> {
  if (globals.json) return
  if (input.detach === true) await io.stdout.write(`${item.workspace}\n`)
  if (!globals.quiet) for (const note of item.notes ?? []) await io.stderr.write(`aw: ${visible(note)}\n`)
  if (globals.quiet || !io.stderr.isTerminal) return
  const { dim } = paint(wantsColor(io.stderr.isTerminal, io.env, globals.noColor))
  const { workspace, run, isolation, path } = item
  const lines =
    input.detach === true
      ? [
          `its output  aw logs ${workspace} --follow`,
          `its end     aw wait ${workspace}`,
          `cancel it   aw cancel ${workspace}`,
        ]
      : [[workspace, `run ${run?.number}, ${isolation}`, ...(path === undefined ? [] : [path])].join('  ')]
  await io.stderr.write(lines.map((line) => `${dim(line)}\n`).join(''))
}

/** What became of it, and what to do next. On standard error: the output of the run is the output. */
export async function printSummary(session: Session, input: Input, ended: readonly EndedItem[]): Promise<void> {
  const { io, globals } = session
  if (globals.quiet || globals.json || ended.length === 0) return
  const text =
    ended.length === 1 && input.count === undefined ? summaryOfOne(session, ended[0]) : summaryOfMany(session, ended)
  await io.stderr.write(`${text}\n`)
}

function summaryOfOne(session: Session, item: EndedItem | undefined): string {
  const { io, globals } = session
  const { dim } = paint(wantsColor(io.stderr.isTerminal, io.env, globals.noColor))
  if (item?.run === undefined) return ''
  const { workspace, changes, run } = item
  const left = run.not_kept === null ? '' : `; what it left is there, and not kept: ${visible(run.not_kept.message)}`
  const head = `${workspace}  ${stateText(session, run)}${changes == null ? left : `: ${changesText(changes)}`}`
  return [head, ...nextSteps(item).map((line) => dim(line))].join('\n')
}

function nextSteps({ workspace, changes, run }: EndedItem): string[] {
  const changed = changes != null && changes.added + changes.changed + changes.removed > 0
  const unkept = run?.not_kept != null
  return [
    ...(changed || unkept ? [`see it      aw diff ${workspace}`] : []),
    ...(changed ? [`take it     aw export ${workspace} --branch NAME --repo .`] : []),
    ...(changed && run?.snapshot != null ? [`undo it     aw undo ${workspace}`] : []),
    ...(unkept ? [`keep it     aw snapshot ${workspace}, once there is room: aw snapshots ${workspace}`] : []),
    ...(run?.state === 'completed' ? [] : [`its output  aw logs ${workspace}`]),
    ...(run?.state === 'failed' && run.agent !== null ? [`its agent   aw agents test ${run.agent}`] : []),
    `destroy it  aw destroy ${workspace}`,
  ]
}

/** Side by side. */
function summaryOfMany({ io, globals }: Session, ended: readonly EndedItem[]): string {
  const colours = paint(wantsColor(io.stderr.isTerminal, io.env, globals.noColor))
  const view = {
    paint: colours,
    terminal: io.stderr.isTerminal,
    columns: io.stderr.isTerminal ? io.stderr.columns : Infinity,
    quiet: false,
    now: io.now(),
    input: {},
    told: new Set<string>(),
  }
  const right = (text: string) => ({ text, right: true as const })
  const byName = ended.toSorted((one, other) => one.workspace.localeCompare(other.workspace, 'en', { numeric: true }))
  const rows = byName.map((item): Row => {
    const { workspace, run, changes, error } = item
    const seconds = run?.exit?.duration_ms === undefined ? '-' : (run.exit.duration_ms / 1000).toFixed(1)
    const numbers = [changes?.added, changes?.changed, changes?.removed].map((number) => right(String(number ?? '-')))
    return [
      { text: workspace, paint: view.paint.bold },
      { text: run?.state ?? 'failed', paint: paintOf(view.paint, run?.state) },
      right(seconds),
      ...numbers,
      visible(run?.not_kept?.message ?? run?.problem?.message ?? error?.message ?? ''),
    ]
  })
  const head = ['WORKSPACE', 'STATE', right('SECONDS'), right('ADDED'), right('CHANGED'), right('REMOVED'), '']
  const [first, second] = byName.filter(({ run }) => run !== undefined).map(({ workspace }) => workspace)
  if (!view.terminal || first === undefined || second === undefined) return columns(head, rows, view)
  const next = [
    `see one     aw diff ${first}`,
    `compare     aw diff ${first} ${second}`,
    `take one    aw export ${first} --branch NAME --repo .`,
  ]
  return [columns(head, rows, view), ...next.map((line) => colours.dim(line))].join('\n')
}

const paintOf = (colours: ReturnType<typeof paint>, state: Run['state'] | undefined) =>
  state === 'completed' ? colours.green : state === 'cancelled' ? colours.yellow : colours.red

function stateText({ io, globals }: Session, { state, exit, problem, not_kept: notKept }: Run): string {
  const colours = paint(wantsColor(io.stderr.isTerminal, io.env, globals.noColor))
  const seconds = exit?.duration_ms === undefined ? '' : ` after ${(exit.duration_ms / 1000).toFixed(1)} s`
  const isTold = problem === null || problem.message === notKept?.message
  const why = isTold ? '' : ` (${visible(problem.message)})`
  return `${paintOf(colours, state)(state)}${seconds}${why}`
}

function changesText({ added, changed, removed }: NonNullable<EndedItem['changes']>): string {
  if (added + changed + removed === 0) return 'nothing changed'
  const parts = [
    added > 0 && `${added} added`,
    changed > 0 && `${changed} changed`,
    removed > 0 && `${removed} removed`,
  ]
  return `${parts.filter((part) => part !== false).join(', ')} (${count(added + changed + removed, 'path')})`
}
