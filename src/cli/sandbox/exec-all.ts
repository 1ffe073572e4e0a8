import type { Outputs } from '../../api/table.ts'
import { paint, wantsColor } from '../output/color.ts'
import { ClosedOutput, type HandledSignal } from '../io.ts'
import { visible } from '../../domain/text/visible.ts'
import { exitCodeOf, exitCodeOfFailure, exitCodeOfSignal } from './exit-code.ts'
import { bytesOf, type ExecInput, exitOf, reportCancelled, type Session } from './run-command.ts'
import { exitNotes, printNotes } from './notes.ts'
import { jsonView, prefixedLinesView } from './output-view.ts'

type Item = Outputs['exec']

interface Tally {
  readonly started: Set<string>
  /** Bytes of the output of each. */
  readonly written: Map<string, number>
  well: number
  /** In the order in which they failed. */
  readonly failed: { readonly workspace: string; readonly what: string; readonly code: number }[]
}

/** `aw exec --all TASK`: each line tells whose it is. The exit code is that of the first that failed. */
export async function execAll(session: Session, input: ExecInput): Promise<number> {
  const { manager, io } = session
  const stop = new AbortController()
  let by: HandledSignal | undefined
  using taken = io.takeSignals((name) => {
    if (name === 'SIGWINCH') return
    by = name
    stop.abort()
    taken[Symbol.dispose]()
  })
  const tally: Tally = { started: new Set(), written: new Map(), well: 0, failed: [] }
  const show = session.globals.json ? jsonView(session) : prefixedLinesView(session)
  try {
    for await (const item of manager.stream('exec', input, { signal: stop.signal })) {
      count(tally, item)
      await show(item)
      if (item.type === 'started') await printNotes(session, item.notes ?? [], `${item.workspace}: `)
      if (item.type !== 'exit') continue
      const notes = await exitNotes(session, input, exitOf(item), tally.written.get(item.workspace) ?? 0)
      await printNotes(session, notes, `${item.workspace}: `)
    }
  } catch (error) {
    if (error instanceof ClosedOutput) return exitCodeOfSignal('SIGPIPE')
    if (by === undefined) throw error
  }
  await summarise(session, tally)
  if (by !== undefined) return await reportCancelled(session, by, 'the commands were ended')
  return tally.failed[0]?.code ?? 0
}

function count(tally: Tally, item: Item): void {
  const { type, workspace, error } = item
  if (type === 'started') tally.started.add(workspace)
  if (item.data !== undefined) tally.written.set(workspace, (tally.written.get(workspace) ?? 0) + bytesOf(item).length)
  if (type === 'failed')
    tally.failed.push({
      workspace,
      what: visible(error?.message ?? 'It could not be run'),
      code: exitCodeOfFailure(error?.code ?? '', tally.started.has(workspace)),
    })
  if (type !== 'exit') return
  const ended = exitOf(item)
  const code = exitCodeOf(ended)
  if (code === 0) tally.well++
  else tally.failed.push({ workspace, what: ended.timed_out ? 'timed out' : (ended.signal ?? `exit ${code}`), code })
}

async function summarise({ io, globals }: Session, { well, failed }: Tally): Promise<void> {
  if (globals.quiet || globals.json) return
  const { dim, red } = paint(wantsColor(io.stderr.isTerminal, io.env, globals.noColor))
  const each = failed.map(({ workspace, what }) => `${workspace}: ${red(what)}\n`)
  await io.stderr.write(`${each.join('')}${dim(`${well} of ${well + failed.length} ended with 0`)}\n`)
}
