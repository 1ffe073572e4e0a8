import { toRecord, type Head, type LogRecord } from './chain.ts'
import { AwError } from '../errors.ts'
import type { AnyEvent, NewEvent, StreamId } from './event.ts'
import { decode } from './upcast.ts'
import { evolve } from '../workspace/evolve.ts'
import { isLive, nameOf, type Workspace } from '../workspace/state.ts'

/** What every event store checks before it stores anything, in this order. The contract is in `ports/event-store.ts`. */

/** On a full disk these are refused; all else ends something or makes room, and may use what was kept for that. */
export const growingIntents: ReadonlySet<string> = new Set([
  'workspace_create_started',
  'workspace_reset_started',
  'snapshot_started',
  'workspace_restore_started',
])

/**
 * The stored events, if the call repeats an earlier one; `undefined` if all are new.
 * @param stored for each event, what the log holds under its id
 */
export function findRepeated(
  stream: StreamId,
  events: readonly NewEvent[],
  stored: readonly (AnyEvent | undefined)[],
): AnyEvent[] | undefined {
  const found = stored.filter((event) => event !== undefined)
  if (found.length === 0) {
    const twice = events.find((event, i) => events.findIndex(({ id }) => id === event.id) !== i)
    if (twice) throw conflict(stream, twice, 'is twice in one call')
    return undefined
  }
  for (const [i, event] of events.entries()) {
    const before = stored[i]
    if (before === undefined) throw conflict(stream, event, 'is new, but others of the call are in the log')
    if (!sameContent(stream, event, before)) throw conflict(stream, event, 'is in the log with other content')
  }
  return found
}

const sameContent = (stream: StreamId, event: NewEvent, stored: AnyEvent): boolean =>
  stored.stream === stream &&
  stored.type === event.type &&
  canonical(stored.data) === canonical(event.data) &&
  canonical(stored.meta) === canonical(event.meta)

/** JSON with sorted keys: two values with the same content have the same text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )

const conflict = (stream: StreamId, event: NewEvent, why: string): AwError =>
  new AwError('event_conflict', `Event ${event.id} ${why}`, { data: { stream, id: event.id } })

export function assertVersion(stream: StreamId, expected: number, actual: number): void {
  if (actual === expected) return
  throw new AwError('version_conflict', `${stream} is at version ${actual}, not ${expected}`, {
    hint: 'Read it again and decide anew',
    data: { stream, expected, actual },
  })
}

export interface Plan {
  readonly records: readonly LogRecord[]
  readonly events: readonly AnyEvent[]
  readonly workspace: Workspace | undefined
}

/** The records to store and the workspace after them, or `workspace_busy` for a writer that was fenced off. */
export function planAppend(
  stream: StreamId,
  head: Head,
  lastPosition: number,
  before: Workspace | undefined,
  events: readonly NewEvent[],
): Plan {
  const records: LogRecord[] = []
  const stored: AnyEvent[] = []
  let at = head
  let workspace = before
  for (const [i, event] of events.entries()) {
    const record = toRecord(stream, at, lastPosition + 1 + i, event)
    assertSmall(record)
    const next = decode(record)
    if (stream !== 'home') {
      assertNotFenced(stream, workspace, next)
      workspace = evolve(workspace, next)
    }
    records.push(record)
    stored.push(next)
    at = record
  }
  return { records, events: stored, workspace }
}

/** Bytes of the payload of what somebody asks for. */
const maxBytes = 64 * 1024

/**
 * Payloads are small: each is kept for good, and read with every other. Only what asks for something is refused, which is
 * what a caller's own texts are in; what tells how it ended must reach the log.
 */
function assertSmall({ type, data }: LogRecord): void {
  if (!type.endsWith('_started') && type !== 'workspace_labelled') return
  const bytes = Buffer.byteLength(data)
  if (bytes <= maxBytes) return
  throw new AwError('invalid_input', `What this says is ${bytes} bytes long, and ${maxBytes} are the most`, {
    hint: 'Make config and labels shorter; long texts belong into files of the workspace',
    data: { bytes, limit: maxBytes },
  })
}

function assertNotFenced(stream: StreamId, workspace: Workspace | undefined, event: AnyEvent): void {
  const current = workspace?.operation ?? null
  const claimed = event.meta.operation
  const allowed = (): boolean => {
    if (event.type.endsWith('_started')) return current === null
    if (event.type === 'operation_taken') {
      const next = (current?.epoch ?? 0) + 1
      return current !== null && claimed?.id === current.id && claimed.epoch === next && event.data.epoch === next
    }
    return claimed === null || (claimed.id === current?.id && claimed.epoch === current.epoch)
  }
  if (allowed()) return
  const name = workspace ? nameOf(workspace) : stream
  const why = current ? `${current.kind} is in progress` : 'the operation is over'
  throw new AwError('workspace_busy', `${name} cannot take ${event.type}: ${why}`, {
    hint: 'Another process works on it; wait for it and try again',
    data: { workspace: stream, operation: current },
  })
}

/** Whether an append gives the workspace a name it did not hold, and whether it makes one more live workspace. */
export function newClaims(
  before: Workspace | undefined,
  after: Workspace | undefined,
): { name: boolean; place: boolean } {
  if (after === undefined || !isLive(after.state)) return { name: false, place: false }
  const place = before === undefined || !isLive(before.state)
  return { name: place || before.task !== after.task || before.agent !== after.agent, place }
}

/** @param holder the live workspace that has the name */
export function assertNameFree(
  workspace: { id: string; task: string; agent: string },
  holder: string | undefined,
): void {
  if (holder === undefined || holder === workspace.id) return
  const name = nameOf(workspace)
  throw new AwError('workspace_exists', `${name} exists already`, {
    hint: `Take another name, or destroy it first: aw destroy ${name}`,
    data: { name, id: holder },
  })
}

/** @param count the live workspaces there are without the new one */
export function assertBelowWorkspaceLimit(limit: number, count: number): void {
  if (count < limit) return
  throw new AwError('limit_reached', `There are ${count} live workspaces and ${limit} are allowed`, {
    hint: 'Destroy one, or raise workspaces.max_workspaces',
    data: { limit, count },
  })
}
