import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { Core, Request } from '../core.ts'
import { merged, settled } from '../sandboxes/exec.ts'
import { lookUp } from '../kernel/find.ts'
import { fork } from '../snapshots/fork.ts'
import { assertRunnable, forkNotes, runOne, workspaceFor } from './run-one.ts'
import { assertRunPossible, discardAndExplain, discardWorkspace } from './check.ts'
import { commandFor } from './command.ts'
import { createWithNotes } from '../workspaces/create-for-run.ts'

type Input = Inputs['run']
type Item = Outputs['run']

/** One run, or so many at once, each in a fork of one start. One that fails does not keep the others from going on. */
export function run(core: Core, input: Input, request: Request): AsyncIterable<Item> {
  return input.count === undefined ? runOne(core, input, request) : runMany(core, input, request, input.count)
}

async function* runMany(core: Core, input: Input, request: Request, count: number): AsyncGenerator<Item> {
  // What is wrong with it is told before anything is made.
  const command = await commandFor(core, input)
  const found = await workspaceFor(core, input)
  await assertRunnable(core, input, found)
  await assertRunPossible(core, input, command, found)
  const { id: start, notes } = found === undefined ? await startFor(core, input, request) : { id: found.id, notes: [] }
  const { running } = partsOf(input)
  const forks = await forked(core, input, request, start, count).catch(async (error: unknown) => {
    throw found === undefined ? await discardAndExplain(core, request, start, error) : error
  })
  const made = forks.flatMap(({ workspace }) => (workspace ? [workspace] : []))
  // One that could not be made is told as one that has failed.
  for (const { name, error } of forks) if (error) yield { type: 'failed', workspace: name, error }
  const runs = merged(
    made.map(({ id, workspace_id: name }) =>
      settled(name, runOne(core, { ...running, id }, request, { notes, isMade: true })),
    ),
  )
  let hasStarted = false
  for await (const item of runs) {
    hasStarted ||= item.type === 'started'
    yield item
  }
  if (found === undefined && !hasStarted) await discardWorkspace(core, request, start)
}

/** A workspace for each run. If that is stopped halfway, none of them is of use. */
async function forked(core: Core, input: Input, request: Request, start: WorkspaceId, count: number) {
  try {
    return (await fork(core, { id: start, count, labels: input.labels, ttl: input.ttl }, request)).forks
  } catch (error) {
    const { code, message, data } = toAwError(error)
    const made = Array.isArray(data['made']) ? (data['made'] as string[]) : []
    for (const name of made) {
      const workspace = await lookUp(core, name)
      if (workspace !== undefined) await discardWorkspace(core, request, workspace.id)
    }
    throw made.length === 0 ? error : new AwError(code, message, { hint: 'Nothing was run', data, cause: error })
  }
}

/** The workspace that all of them begin as. */
async function startFor(core: Core, input: Input, request: Request) {
  const { id, source, notes } = await createWithNotes(core, partsOf(input).creation, request)
  return { id, notes: [...notes, ...forkNotes({ source })] }
}

/** What a workspace is made with, and what is run in it. */
function partsOf(input: Input) {
  const { id, generate, profile, from, repo, ref, full, from_workspace, at, exclude, ignored, ...others } = input
  const { template, variables, config, labels, ttl, count: _, ...running } = others
  const baseline = { from, repo, ref, full, from_workspace, at, exclude, ignored, template, variables }
  return { creation: { id, generate, profile, config, labels, ttl, ...baseline }, running }
}
