import type { Inputs, Outputs } from '../api/table.ts'
import { nameOf } from '../domain/workspace/state.ts'
import type { Core, Request } from './core.ts'
import { merged, settled } from './exec-all.ts'
import { lookUp } from './find.ts'
import { fork } from './fork.ts'
import { runOne } from './run.ts'
import { commandFor } from './run-command.ts'
import { create } from './start.ts'

type Input = Inputs['run']
type Item = Outputs['run']

/** One run, or so many at once, each in a fork of one start. One that fails does not keep the others from going on. */
export function run(core: Core, input: Input, request: Request): AsyncIterable<Item> {
  return input.count === undefined ? runOne(core, input, request) : runMany(core, input, request, input.count)
}

async function* runMany(core: Core, input: Input, request: Request, count: number): AsyncGenerator<Item> {
  // What is wrong with it is told before anything is made.
  await commandFor(core, input)
  const start = await startFor(core, input, request)
  const { forks } = await fork(core, { id: start, count, labels: input.labels, ttl: input.ttl }, request)
  const made = forks.flatMap(({ workspace }) => (workspace ? [workspace] : []))
  // One that could not be made is told as one that has failed.
  for (const { name, error } of forks) if (error) yield { type: 'failed', workspace: name, error }
  yield* merged(made.map(({ id, workspace_id: name }) => settled(name, runOne(core, only(input, id), request))))
}

/** Of a fork everything is said that a workspace is made with. */
function only(input: Input, id: string): Input {
  const { prompt, agent, argv, model, resume, detach, record_prompt, cwd, env, timeout_ms, snapshot } = input
  const { isolation, network, allow, shared, memory_mb, cpu_percent, processes, open_files, file_size_mb } = input
  const walls = { isolation, network, allow, shared, memory_mb, cpu_percent, processes, open_files, file_size_mb }
  return { id, prompt, agent, argv, model, resume, detach, record_prompt, cwd, env, timeout_ms, snapshot, ...walls }
}

/** The workspace that all of them begin as. */
async function startFor(core: Core, input: Input, request: Request): Promise<string> {
  const found = input.id === undefined ? undefined : await lookUp(core, input.id)
  if (found !== undefined && input.from === undefined && input.repo === undefined && input.template === undefined)
    return nameOf(found)
  const { id, generate, profile, from, repo, ref, full, from_workspace, at, exclude, ignored } = input
  const { template, variables, config, labels, ttl } = input
  const beginning = { from, repo, ref, full, from_workspace, at, exclude, ignored, template, variables }
  return (await create(core, { id, generate, profile, config, labels, ttl, ...beginning }, request)).id
}
