import type { Inputs, Outputs } from '../api/table.ts'
import type { Core, Request } from './core.ts'
import { merged, settled } from './exec-all.ts'
import { fork } from './fork.ts'
import { assertRunnable, beginningNotes, runOne, workspaceFor } from './run.ts'
import { commandFor } from './run-command.ts'
import { createNoting } from './start.ts'

type Input = Inputs['run']
type Item = Outputs['run']

/** One run, or so many at once, each in a fork of one start. One that fails does not keep the others from going on. */
export function run(core: Core, input: Input, request: Request): AsyncIterable<Item> {
  return input.count === undefined ? runOne(core, input, request) : runMany(core, input, request, input.count)
}

async function* runMany(core: Core, input: Input, request: Request, count: number): AsyncGenerator<Item> {
  // What is wrong with it is told before anything is made.
  await commandFor(core, input)
  const { id: start, notes } = await startFor(core, input, request)
  const { running } = partsOf(input)
  const { forks } = await fork(core, { id: start, count, labels: input.labels, ttl: input.ttl }, request)
  const made = forks.flatMap(({ workspace }) => (workspace ? [workspace] : []))
  // One that could not be made is told as one that has failed.
  for (const { name, error } of forks) if (error) yield { type: 'failed', workspace: name, error }
  yield* merged(
    made.map(({ id, workspace_id: name }) => settled(name, runOne(core, { ...running, id }, request, notes))),
  )
}

/** The workspace that all of them begin as. */
async function startFor(core: Core, input: Input, request: Request) {
  const found = await workspaceFor(core, input)
  await assertRunnable(core, input, found)
  if (found !== undefined) return { id: found.id, notes: [] }
  const { id, source, notes } = await createNoting(core, partsOf(input).creation, request)
  return { id, notes: [...notes, ...beginningNotes({ source })] }
}

/** What a workspace is made with, and what is run in it. */
function partsOf(input: Input) {
  const { id, generate, profile, from, repo, ref, full, from_workspace, at, exclude, ignored, ...others } = input
  const { template, variables, config, labels, ttl, count: _, ...running } = others
  const beginning = { from, repo, ref, full, from_workspace, at, exclude, ignored, template, variables }
  return { creation: { id, generate, profile, config, labels, ttl, ...beginning }, running }
}
