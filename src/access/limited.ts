import { operations, type Inputs, type Outputs } from '../api/table.ts'
import type { Operation } from '../api/operation.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import type { MountSetting } from '../domain/sandbox/mount.ts'
import type { CallContext, Manager } from '../ports/manager.ts'
import { mountLookup } from './mount-lookup.ts'
import { assertNewNameReachable } from './new-names.ts'
import { hideOthersInError, hideOtherWorkspaces } from './hide-others.ts'
import { pinReferences } from './pin-references.ts'
import { assertScope, isAdmin, reaches, type Principal } from './principal.ts'
import { redactError, redaction, type HostPaths } from './redact.ts'
import { visibleEvents } from './visible-events.ts'
import { assertNoPrivilegedFields } from './privileged-fields.ts'

export interface HomeFacts {
  readonly places: HostPaths
  /** What `sandbox.isolation` says. */
  readonly isolation: string
  /** What `sandbox.mount` says. */
  readonly mount: MountSetting
}

type View = Outputs['show']

/** About many workspaces: the answer holds those that the principal reaches. */
const filtered = ['list', 'runs', 'events'] as const
/** About none in particular, and without anything of the machine. */
const general = ['template list', 'template show']

/**
 * The same core, as far as a principal may use it: the scope of each operation is asked for, workspaces out of reach are
 * unknown, nobody gives themselves other walls, and no answer tells of the machine. Every door hands this to those who
 * are not the user themselves, so that no door has rules of its own.
 */
export function limited(manager: Manager, principal: Principal, facts: HomeFacts): Manager {
  const { redact, refsIn } = redaction(facts.places)
  const inside = mountLookup(manager, principal, facts.mount)
  const contextOf = (context: CallContext = {}, seen: readonly View[]): CallContext => ({
    ...context,
    actor: principal.actor,
    within: principal.sandbox,
    ...(context.onProgress && {
      onProgress: (progress) => context.onProgress?.(redact(progress, inside.described(seen))),
    }),
  })
  if (isAdmin(principal)) {
    // Whoever may do everything may also speak for somebody else.
    const { actor } = principal
    return {
      call: (name, input, context) => manager.call(name, input, { actor, ...context }),
      stream: (name, input, context) => manager.stream(name, input, { actor, ...context }),
      [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
    }
  }

  const admitted = async (name: string, input: object, context: CallContext | undefined, seen: View[]) => {
    const entry = operations.find((one) => one.name === name) as Operation | undefined
    if (entry === undefined) throw new AwError('unsupported', `There is no operation ${name}`)
    assertScope(principal, entry.scope, name)
    assertNoPrivilegedFields(entry, input)
    if (principal.sandbox !== undefined) assertInside(entry, input)
    const found = await pinReferences(manager, principal, entry, { ...input }, context)
    if (found.view !== undefined) seen.push(found.view)
    if (principal.workspaces !== null) {
      assertNamed(entry, found.input)
      assertNewNameReachable(principal, entry, found.input, found.view)
    }
    // Where they are is where their commands run.
    return principal.sandbox === undefined ? { ...found.input, ...wallsFor(entry, found.view, facts) } : found.input
  }

  /** @param seen the workspaces that were looked at for it */
  const teller = (input: object, seen: readonly View[]) => {
    const found = inside.finder(seen)
    return async <T>(value: T): Promise<T> => redact(value, await found(value, refsIn(value)), input)
  }
  const failing = async (error: unknown, input: object, seen: readonly View[]): Promise<AwError> =>
    hideOthersInError(manager, principal, input, await redactError(toAwError(error), teller(input, seen)))

  return {
    async call(name, input, context) {
      const seen: View[] = []
      try {
        const own = (await admitted(name, input, context, seen)) as never
        const hide = hideOtherWorkspaces(manager, principal, input)
        const tell = async (answer: unknown) => (await teller(input, seen)(await hide(answer))) as never
        if (name === 'list') return await tell(await reachable(manager, principal, own, context))
        if (name === 'runs') return await tell(await reachableRuns(manager, principal, own, context))
        return await tell(await manager.call(name, own, contextOf(context, seen)))
      } catch (error) {
        if (name === 'exists' && toAwError(error).code === 'workspace_not_found') return { exists: false } as never
        throw await failing(error, input, seen)
      }
    },
    async *stream(name, input, context) {
      const seen: View[] = []
      try {
        const own = (await admitted(name, input, context, seen)) as Inputs['events']
        // Of what is left out, nothing counts.
        const { limit: left = Infinity, ...rest } = name === 'events' ? own : { ...own, limit: undefined }
        const items: AsyncIterable<unknown> =
          name === 'events'
            ? visibleEvents(
                (wanted) => manager.stream('events', wanted, contextOf(context, seen)),
                (event) => sees(principal, event),
                rest,
              )
            : manager.stream(name, own as never, contextOf(context, seen))
        const [hide, tell] = [hideOtherWorkspaces(manager, principal, input), teller(input, seen)]
        let count = 0
        for await (const item of items) {
          yield (await tell(await hide(item))) as never
          if (++count >= left) return
        }
      } catch (error) {
        throw await failing(error, input, seen)
      }
    },
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  }
}

/** What is of use to those in a sandbox: the work in their workspace, and not what is around it. */
const inside = [
  'show',
  'exec',
  'fs read',
  'fs write',
  'fs list',
  'fs tree',
  'fs stat',
  'snapshot',
  'snapshots',
  'restore',
  'diff',
  'runs',
  'logs',
  'wait',
]

function assertInside({ name }: Operation, input: object): void {
  const field = 'restart' in input && input.restart === true ? 'restart' : undefined
  if (inside.includes(name) && field === undefined) return
  throw new AwError('permission_denied', `${field ?? name} is not for those in the sandbox of the workspace`, {
    hint: 'Ask whoever started it',
    data: { operation: name },
  })
}

/** Whoever is held to workspaces names one, unless the answer is held to them too. */
function assertNamed({ name, names = {} }: Operation, input: Record<string, unknown>): void {
  if (filtered.some((one) => one === name) || general.includes(name)) return
  if (Object.keys(names).some((field) => input[field] !== undefined)) return
  throw new AwError('permission_denied', `This token is for certain workspaces: ${name} has to name one`, {
    data: { operation: name },
  })
}

/**
 * A command without walls would run as the user. So it is said which walls are meant, those of the sandbox that runs or
 * those that the home is set to, and namespace where that is none; if they are others by then, it is refused.
 */
function wallsFor(
  { scope, input: { properties = {} }, name }: Operation,
  view: Outputs['show'] | undefined,
  facts: HomeFacts,
) {
  if (scope !== 'exec' && scope !== 'run') return {}
  const isolation = view?.sandbox?.isolation ?? (facts.isolation === 'none' ? 'namespace' : facts.isolation)
  if (isolation === 'none') {
    throw new AwError(
      'permission_denied',
      `${view?.workspace_id} has a sandbox without walls, which is for its user alone`,
      {
        hint: 'Stop it, or start it with --isolation namespace',
        data: { operation: name },
      },
    )
  }
  return 'isolation' in properties ? { isolation } : {}
}

async function reachable(
  manager: Manager,
  principal: Principal,
  { limit, after, ...filter }: Inputs['list'],
  context: CallContext | undefined,
): Promise<Outputs['list']> {
  const all = await manager.call('list', filter, { signal: context?.signal })
  const mine = all.filter((view) => reaches(principal, { id: view.id, name: view.workspace_id }))
  return mine.filter(({ id }) => after === undefined || id > after).slice(0, limit)
}

async function reachableRuns(
  manager: Manager,
  principal: Principal,
  { limit, ...filter }: Inputs['runs'],
  context: CallContext | undefined,
): Promise<Outputs['runs']> {
  const { signal } = context ?? {}
  if (principal.workspaces === null || filter.id !== undefined)
    return manager.call('runs', { ...filter, limit }, { signal })
  const names = new Set((await reachable(manager, principal, {}, context)).map((one) => one.workspace_id))
  const all = await manager.call('runs', filter, { signal })
  return all.filter((run) => names.has(run.workspace)).slice(0, limit)
}

/** By the name that an event carries, or the id of its stream. What is about the home is for its user. */
function sees(principal: Principal, { stream, data }: Outputs['events']): boolean {
  if (!stream.startsWith('ws_')) return false
  const { task_id: task, agent_id: agent } = data as { task_id?: string; agent_id?: string }
  return reaches(principal, { id: stream, ...(task && agent ? { name: `${task}/${agent}` } : {}) })
}
