import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { RunId, WorkspaceId } from '../../domain/ids.ts'
import type { LogItem, ReadOptions } from '../../ports/kept-logs.ts'
import type { Core, Request } from '../core.ts'
import { findWithRun } from '../kernel/find.ts'
import { lastLines } from './tail.ts'
import { runEndOf } from './end.ts'
import { numberedRun } from './queries.ts'

/** What a run wrote, oldest first. */
export async function* logs(core: Core, input: Inputs['logs'], request: Request): AsyncGenerator<Outputs['logs']> {
  assertOneWay(input)
  const { workspace, run: named } = await findWithRun(core, input.id)
  const isNamed = named !== undefined && input.run === undefined
  const run = isNamed ? named : (await numberedRun(core, workspace, input.run)).run
  const where = { from: input.from, last: input.last_kb === undefined ? undefined : input.last_kb * 1024 }
  const items = input.tail === undefined ? written(where) : tail(input.tail)
  for await (const { at, lost, ...item } of cancellable(items, request.signal))
    yield { ...item, ...(lost !== undefined && { lost }), at: at?.toISOString() ?? null }

  function written(options: ReadOptions): AsyncIterable<LogItem> {
    const all = { ...options, signal: request.signal }
    return input.follow === true ? followRun(core, workspace.id, run, all) : core.logs.read(run, all)
  }

  async function* tail(lines: number): AsyncGenerator<LogItem> {
    const last = await lastLines(core, request, run, lines)
    yield* last.items
    if (input.follow === true) yield* written({ from: last.next })
  }
}

function assertOneWay({ tail, from, last_kb: last }: Inputs['logs']): void {
  if (tail === undefined || (from === undefined && last === undefined)) return
  throw new AwError('invalid_input', 'The last lines, or from a position on?', {
    hint: 'Give tail alone',
    data: { field: 'tail' },
  })
}

/** Until the run has ended, or nobody is left who could write. */
export const followRun = (core: Core, id: WorkspaceId, run: RunId, options: ReadOptions): AsyncIterable<LogItem> =>
  core.logs.read(run, {
    ...options,
    follow: {
      async isOver() {
        const workspace = await core.store.get(id)
        if (workspace?.run?.run !== run) return true
        return (await runEndOf(core, workspace, workspace.run)) !== undefined
      },
    },
  })

async function* cancellable<T>(items: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  try {
    yield* items
  } catch (error) {
    if (signal?.aborted !== true) throw error
    throw new AwError('aborted', 'The caller cancelled this', { cause: signal.reason })
  }
}
