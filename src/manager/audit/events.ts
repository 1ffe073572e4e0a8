import type { Inputs, Outputs } from '../../api/table.ts'
import type { EventType, StreamId } from '../../domain/log/event.ts'
import { isRunId, isWorkspaceId } from '../../domain/ids.ts'
import { parseName } from '../../domain/names.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace, notFound } from '../kernel/find.ts'

/**
 * The log as users see it: by task, by workspace (a name also finds its earlier holders), by type. Where it starts is
 * settled by the call, not by the first read: what happens in between is seen.
 */
export function events(core: Core, input: Inputs['events'], request: Request): AsyncIterable<Outputs['events']> {
  const start = input.from_now === true ? core.store.position() : Promise.resolve(input.after)
  const filter = filterOf(core, input)
  // Whoever reads meets the error; without a reader it concerns nobody.
  for (const promise of [start, filter]) promise.catch(() => undefined)
  return follow(core, input, request, start, filter)
}

async function* follow(
  core: Core,
  input: Inputs['events'],
  request: Request,
  start: Promise<number | undefined>,
  filter: ReturnType<typeof filterOf>,
): AsyncIterable<Outputs['events']> {
  const live = input.follow === true ? (request.signal ?? new AbortController().signal) : undefined
  let left = input.limit ?? Infinity
  let isEmpty = true
  for await (const event of core.store.follow({ ...(await filter), after: await start, last: input.tail, live })) {
    if (request.signal?.aborted) return
    isEmpty = false
    yield event as unknown as Outputs['events']
    left -= 1
    if (left <= 0) return
  }
  if (isEmpty && live === undefined) await assertKnown(core, input.workspace)
}

/** Nothing at all is ever said of a name that nobody has had: it was mistyped. */
async function assertKnown(core: Core, ref: string | undefined): Promise<void> {
  if (ref === undefined || isWorkspaceId(ref)) return
  if (isRunId(ref) && (await core.store.ofRun(ref)) !== undefined) return
  const { task, agent } = parseName(ref)
  for await (const _ of core.store.follow({ task, agent })) return
  throw await notFound(core, ref)
}

async function filterOf(core: Core, input: Inputs['events']) {
  const types = input.type as readonly EventType[] | undefined
  const { workspace: ref, task, correlation } = input
  if (ref === undefined) return { task, types, correlation }
  if (isWorkspaceId(ref)) return { task, types, correlation, stream: (await findWorkspace(core, ref)).id as StreamId }
  const ofRun = isRunId(ref) ? await core.store.ofRun(ref) : undefined
  if (ofRun !== undefined) return { task, types, correlation, stream: ofRun.id as StreamId }
  const name = parseName(ref)
  return { types, correlation, task: name.task, agent: name.agent }
}
