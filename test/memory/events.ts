import {
  assertBelowWorkspaceLimit,
  assertNameFree,
  assertVersion,
  findRepeated,
  newClaims,
  planAppend,
} from '../../src/domain/log/append-rules.ts'
import { checkpointHash, emptyHead, noHash, type Head, type LogRecord } from '../../src/domain/log/chain.ts'
import { AwError } from '../../src/domain/errors.ts'
import {
  assertReservable,
  limitApplies,
  needsReservation,
  newlyApplicableLimits,
  reservedMb,
  type SpaceLimits,
} from '../../src/domain/space/limits.ts'
import type { AnyEvent } from '../../src/domain/log/event.ts'
import { decode } from '../../src/domain/log/upcast.ts'
import { evolve } from '../../src/domain/workspace/evolve.ts'
import { isLive, type Workspace } from '../../src/domain/workspace/state.ts'
import type { Checkpoint, EventStore, FollowOptions, Lease } from '../../src/ports/event-store.ts'
import { auditor } from '../../src/drivers/events/audit.ts'
import { matchesRecord, matchesWorkspace } from '../../src/drivers/events/filter.ts'
import { decideLease, neverActive, renewedLease } from '../../src/drivers/events/leases.ts'

/** The log in the memory of one process: the shortest store that keeps the contract, and the oracle for the others. */
export function memoryEvents(): EventStore {
  const log: LogRecord[] = []
  const heads = new Map<string, Head>()
  /** As texts, so that nothing a caller does to what it was given reaches the store. */
  const workspaces = new Map<string, string>()
  const leases = new Map<string, Lease>()
  const checkpoints: Checkpoint[] = []
  const news = new EventTarget()
  let closed = false
  let noted = ''

  const parse = (text: string | undefined): Workspace | undefined =>
    text === undefined ? undefined : (JSON.parse(text) as Workspace)
  const all = (): Workspace[] => [...workspaces.values()].map((text) => JSON.parse(text) as Workspace)
  const live = (): Workspace[] => all().filter(({ state }) => isLive(state))
  const find = (task: string, agent: string): Workspace | undefined =>
    live().find((workspace) => workspace.task === task && workspace.agent === agent)
  const history = (stream: string): AnyEvent[] =>
    log.filter((record) => record.stream === stream).map((it) => decode(it))
  const unsealed = (): number => log.length - (checkpoints.at(-1)?.events ?? 0)
  const fold = (events: readonly AnyEvent[]): Workspace | undefined =>
    events.reduce(evolve, undefined as Workspace | undefined)

  const startOf = ({ after = 0, last, ...wanted }: FollowOptions): number => {
    if (last === undefined) return after
    const found = log.filter((record) => record.position > after && matchesRecord(record, wanted))
    return found.length > last ? (found.at(-last)?.position ?? 1) - 1 : after
  }

  async function* follow(options: FollowOptions): AsyncGenerator<AnyEvent> {
    const { live: signal } = options
    const end = signal ? Infinity : log.length
    const over = (): boolean => closed || signal?.aborted === true
    for (let next = startOf(options); next < end && !over();) {
      const record = log[next]
      if (record === undefined) {
        await once(news, signal)
        continue
      }
      next += 1
      if (matchesRecord(record, options)) yield decode(record)
    }
  }

  return {
    name: 'memory',

    async append(stream, expected, events, { limits = {}, signal } = {}) {
      if (signal?.aborted) throw new AwError('aborted', 'The append was cancelled', { cause: signal.reason })
      const stored = events.map(({ id }) => log.find((record) => record.id === id))
      const earlier = findRepeated(
        stream,
        events,
        stored.map((record) => record && decode(record)),
      )
      if (earlier) {
        const until = earlier.at(-1)?.version ?? 0
        const workspace =
          stream === 'home' ? undefined : fold(history(stream).filter(({ version }) => version <= until))
        return { events: earlier, workspace, unsealed: unsealed() }
      }
      const head = heads.get(stream) ?? emptyHead
      assertVersion(stream, expected, head.version)
      const before = parse(workspaces.get(stream))
      const plan = planAppend(stream, head, log.length, before, events)
      const { name, place } = newClaims(before, plan.workspace)
      if (name && plan.workspace) assertNameFree(plan.workspace, find(plan.workspace.task, plan.workspace.agent)?.id)
      if (place && limits.maxWorkspaces !== undefined) assertBelowWorkspaceLimit(limits.maxWorkspaces, live().length)
      assertSpace(live(), before, plan.workspace, limits.space)

      log.push(...plan.records)
      const last = plan.records.at(-1)
      if (last) heads.set(stream, { version: last.version, hash: last.hash })
      if (plan.workspace) workspaces.set(stream, JSON.stringify(plan.workspace))
      if (plan.workspace && !isLive(plan.workspace.state)) leases.delete(stream)
      news.dispatchEvent(new Event('news'))
      return { events: plan.events, workspace: plan.workspace, unsealed: unsealed() }
    },

    flushed: async () => undefined,

    async *read(stream, { after = 0, types } = {}) {
      const later = history(stream).slice(after)
      yield* later.filter(({ type }) => types === undefined || types.includes(type))
    },
    follow: (options = {}) => follow(options),
    position: async () => log.length,
    version: async (stream) => heads.get(stream)?.version ?? 0,

    get: async (id) => parse(workspaces.get(id)),
    find: async (task, agent) => find(task, agent),
    async ofRun(run) {
      const isAsked = (event: AnyEvent): boolean => event.type === 'run_requested' && event.data.run === run
      return parse(workspaces.get(log.find((record) => isAsked(decode(record)))?.stream ?? ''))
    },
    async list(filter = {}) {
      const matching = all().filter((workspace) => matchesWorkspace(workspace, filter))
      return matching.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, filter.limit)
    },

    async acquireLease(resource, request) {
      const answer = decideLease(resource, leases.get(resource), request)
      if (answer.acquired) leases.set(resource, answer.lease)
      return answer
    },
    async renewLease(resource, id, now, expiresAt) {
      const lease = renewedLease(leases.get(resource), id, now, expiresAt)
      if (lease !== undefined) leases.set(resource, lease)
      return lease
    },
    async touchLease(resource, id, now) {
      const lease = renewedLease(leases.get(resource), id, now)
      if (lease !== undefined) leases.set(resource, lease)
      return lease
    },
    async restLeases() {
      for (const [resource, lease] of leases) leases.set(resource, { ...lease, active_at: neverActive })
    },
    releaseLease: async (resource, id) => leases.get(resource)?.id === id && leases.delete(resource),
    lease: async (resource) => leases.get(resource),

    async latest() {
      const times = [noted, ...log.map(({ at }) => at), ...checkpoints.map(({ at }) => at)]
      return times.reduce((one, other) => (other > one ? other : one))
    },
    async passed(at) {
      if (at > noted) noted = at
    },

    async seal(at) {
      if (unsealed() === 0) return undefined
      const previous = checkpoints.at(-1)
      const content = { number: checkpoints.length + 1, at, position: log.length, events: log.length }
      const since = new Map<string, Head>(log.slice(previous?.position ?? 0).map((record) => [record.stream, record]))
      const checkpoint = { ...content, hash: checkpointHash(previous?.hash ?? noHash, content, since) }
      checkpoints.push(checkpoint)
      return checkpoint
    },
    async verify({ signal } = {}) {
      if (signal?.aborted) throw new AwError('aborted', 'The audit was cancelled', { cause: signal.reason })
      const audit = auditor(checkpoints)
      for (const record of log) audit.record(record)
      const matches = (workspace: Workspace): boolean => workspaces.get(workspace.id) === JSON.stringify(workspace)
      return audit.finish({ heads, anchor: null, readModel: { ids: [...workspaces.keys()], matches } })
    },
    async rebuild() {
      const truth = [...heads.keys()]
        .map((stream) => fold(history(stream)))
        .filter((workspace) => workspace !== undefined)
      const changed = truth.filter((workspace) => workspaces.get(workspace.id) !== JSON.stringify(workspace))
      for (const workspace of changed) workspaces.set(workspace.id, JSON.stringify(workspace))
      return { workspaces: truth.length, changed: changed.map(({ id }) => id) }
    },

    async [Symbol.asyncDispose]() {
      closed = true
      news.dispatchEvent(new Event('news'))
    },
  }
}

function assertSpace(
  live: readonly Workspace[],
  before: Workspace | undefined,
  after: Workspace | undefined,
  limits: SpaceLimits = {},
): void {
  for (const limit of newlyApplicableLimits(limits, before, after)) {
    const others = live.filter((one) => one.id !== after?.id && limitApplies(limit, one))
    const reserved = others.reduce((sum, one) => sum + reservedMb(one), 0)
    if (after) assertReservable(limit, after, reserved, needsReservation(before, after))
  }
}

/** The next news, or the signal. */
async function once(news: EventTarget, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  news.addEventListener('news', () => resolve(), { once: true })
  signal?.addEventListener('abort', () => resolve(), { once: true })
  await promise
}
