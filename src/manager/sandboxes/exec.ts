import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { allowedStates } from '../../domain/workspace/allow.ts'
import { nameOf } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { exec as execOne } from './exec-one.ts'

type Item = Outputs['exec']

/** One workspace, or every live one of a task at once: one that fails does not keep the others from going on. */
export function exec(core: Core, input: Inputs['exec'], request: Request): AsyncIterable<Item> {
  const { id, all } = input
  if (input.argv.length === 0) throw wrong('Which command?', 'As in: aw exec fix-login -- npm test', 'argv')
  if (id !== undefined && all !== undefined) throw wrong('Both a workspace and a task were given', 'Give one', 'all')
  if (all !== undefined) return everywhere(core, { ...input, all }, request)
  if (id === undefined) throw wrong('In which workspace?', 'As in: aw exec fix-login -- npm test', 'id')
  return execOne(core, { ...input, id }, request)
}

const wrong = (message: string, hint: string, field: string): AwError =>
  new AwError('invalid_input', message, { hint, data: { field } })

async function* everywhere(
  core: Core,
  input: Inputs['exec'] & { all: string },
  request: Request,
): AsyncGenerator<Item> {
  const found = await core.store.list({ task: input.all, states: [...allowedStates.exec] })
  if (found.length === 0)
    throw new AwError('workspace_not_found', `The task ${input.all} has no workspace to run it in`, {
      hint: 'See what there is: aw list',
      data: { task: input.all },
    })
  if (request.input !== undefined || input.columns !== undefined)
    throw wrong('Several commands cannot share one input or terminal', 'Name one workspace', 'all')
  yield* merged(
    found.map((workspace) => settled(nameOf(workspace), execOne(core, { ...input, id: workspace.id }, request))),
  )
}

interface FailedItem {
  readonly type: 'failed'
  readonly workspace: string
  readonly error: { readonly code: string; readonly message: string; readonly hint: string | null }
}

/** A failure is an item like the others. */
export async function* settled<T>(workspace: string, items: AsyncIterable<T>): AsyncGenerator<T | FailedItem> {
  try {
    yield* items
  } catch (error) {
    const { code, message, hint } = toAwError(error)
    yield { type: 'failed', workspace, error: { code, message, hint: hint ?? null } }
  }
}

/** Whichever has something comes next. Stopping to read ends all of them. */
export async function* merged<T>(sources: readonly AsyncGenerator<T>[]): AsyncGenerator<T> {
  const next = async (from: AsyncGenerator<T>) => ({ from, result: await from.next() })
  const waiting = new Map(sources.map((from) => [from, next(from)]))
  try {
    while (waiting.size > 0) {
      const { from, result } = await Promise.race(waiting.values())
      if (result.done === true) waiting.delete(from)
      else {
        yield result.value
        waiting.set(from, next(from))
      }
    }
  } finally {
    await Promise.allSettled(sources.map((from) => from.return(undefined)))
  }
}
