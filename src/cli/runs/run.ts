import type { Inputs, Outputs } from '../../api/table.ts'
import { toAwError, type AwError } from '../../domain/errors.ts'
import type { OperationHandler } from '../call.ts'
import { connectOptions } from '../connect.ts'
import { cannotRun } from '../exit-codes.ts'
import { explainError } from '../help/explain.ts'
import { inputsOf } from '../input/input.ts'
import { ClosedOutput, type HandledSignal } from '../io.ts'
import { progressLine } from '../output/progress.ts'
import { exitCodeOfSignal } from '../sandbox/exit-code.ts'
import { reportFailure, type Session } from '../sandbox/run-command.ts'
import { jsonView, prefixedLinesView, rawView } from '../sandbox/output-view.ts'
import { exitCodeOfRun } from './exit-code.ts'
import { printStarted, printSummary, type EndedItem } from './summary.ts'

type Item = Outputs['run']
type Input = Inputs['run']

/** `aw run`: what it writes is written here; at the end it is told what it changed. Ctrl-C cancels it. */
export const runHandler: OperationHandler = async (operation, given, globals, io) => {
  const [first] = await inputsOf(operation, given, io)
  await using manager = await io.connect(connectOptions(globals, io))
  const input = first as Input
  return await followRuns({ manager, globals, io }, input, (error) => explainError(operation, input, error, io))
}

interface State {
  readonly started: Set<string>
  readonly ended: EndedItem[]
  readonly stop: AbortController
  readonly left: PromiseWithResolvers<HandledSignal>
  by?: HandledSignal
}

async function followRuns(
  session: Session,
  input: Input,
  explain: (error: AwError) => AwError | undefined,
): Promise<number> {
  const { manager, io, globals } = session
  const state: State = { started: new Set(), ended: [], stop: new AbortController(), left: Promise.withResolvers() }
  using taken = io.takeSignals((name) => {
    if (name === 'SIGWINCH') return
    state.by ??= name
    // Whoever closes the terminal leaves the run to itself; Ctrl-C is meant for it.
    if (name === 'SIGINT' || state.started.size === 0) state.stop.abort()
    else state.left.resolve(name)
    taken[Symbol.dispose]()
  })
  const show = globals.json
    ? jsonView(session)
    : input.count === undefined
      ? rawView(session)
      : prefixedLinesView(session)
  using progress = progressLine(io, globals.quiet)
  const items = manager.stream('run', input, {
    signal: state.stop.signal,
    onProgress: (news) => (news.made === undefined ? progress?.show(news) : undefined),
  })
  try {
    for await (const item of untilLeft(items, state.left.promise)) {
      progress?.clear()
      await noted(session, input, state, item)
      await show(item)
    }
  } catch (error) {
    progress?.clear()
    if (error instanceof ClosedOutput) return exitCodeOfSignal('SIGPIPE')
    const known = toAwError(error)
    if (state.by === undefined) return await reportFailure(session, explain(known) ?? known)
  }
  const detached = input.detach === true || (state.by !== undefined && state.by !== 'SIGINT')
  if (!detached) await printSummary(session, input, state.ended)
  if (state.by !== undefined) return exitCodeOfSignal(state.by)
  return input.detach === true
    ? state.ended.find(({ type }) => type === 'failed')
      ? cannotRun
      : 0
    : exitCodeOfAll(state.ended)
}

/** The exit code is that of the first that failed. */
const exitCodeOfAll = (ended: readonly EndedItem[]): number =>
  ended.map(({ run }) => (run === undefined ? cannotRun : exitCodeOfRun(run))).find((code) => code !== 0) ?? 0

async function noted(session: Session, input: Input, state: State, item: Item): Promise<void> {
  if (item.type === 'ended' || item.type === 'failed') state.ended.push(item)
  if (item.type !== 'started') return
  state.started.add(item.workspace)
  await printStarted(session, input, item)
}

/** Until the first signal that leaves it to itself. */
async function* untilLeft<T>(items: AsyncIterable<T>, left: Promise<HandledSignal>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]()
  const gone = left.then(() => undefined)
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), gone])
      if (next === undefined || next.done === true) return
      yield next.value
    }
  } finally {
    void iterator.return?.(undefined)
  }
}
