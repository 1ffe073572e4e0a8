import {
  assertBelowWorkspaceLimit,
  assertNameFree,
  assertVersion,
  findRepeated,
  newClaims,
  planAppend,
} from '../../../domain/log/append-rules.ts'
import { emptyHead, type Head, type LogRecord } from '../../../domain/log/chain.ts'
import type { AnyEvent, NewEvent, StreamId } from '../../../domain/log/event.ts'
import { assertReservable, needsReservation, newlyApplicableLimits } from '../../../domain/space/limits.ts'
import { decode } from '../../../domain/log/upcast.ts'
import { evolve } from '../../../domain/workspace/evolve.ts'
import { isLive, type Workspace } from '../../../domain/workspace/state.ts'
import type { AppendLimits, AppendResult } from '../../../ports/event-store.ts'
import type { Database } from './database.ts'
import { isWorthRecording, recordLatestTime } from './latest-time.ts'
import { countLive, holderOf, parseFold, reservedUnder, saveWorkspace } from './read-model.ts'
import { eventById, insertRecord, records } from './records.ts'
import { assertFormat } from './schema.ts'

/** Inside a write transaction: checks everything, then stores the events and brings every table up to date. */
export function append(
  database: Database,
  format: number,
  stream: StreamId,
  expected: number,
  events: readonly NewEvent[],
  limits: AppendLimits = {},
): AppendResult {
  const now = standing(database, stream)
  assertFormat(now.format, format)
  const earlier = findRepeated(
    stream,
    events,
    events.map(({ id }) => eventById(database, id)),
  )
  if (earlier)
    return { events: earlier, workspace: foldUpTo(database, stream, earlier), unsealed: now.last - now.sealed }

  assertVersion(stream, expected, now.head.version)
  const plan = planAppend(stream, now.head, now.last, now.workspace, events)
  assertClaims(database, now.workspace, plan.workspace, limits)
  store(database, plan.records)
  const { at = '' } = plan.records.at(-1) ?? {}
  if (at !== '' && isWorthRecording(at, now.noted)) recordLatestTime(database, at)
  if (plan.workspace && events.length > 0) saveWorkspace(database, plan.workspace)
  if (plan.workspace && !isLive(plan.workspace.state)) database.run('DELETE FROM leases WHERE resource = ?', stream)
  return { events: plan.events, workspace: plan.workspace, unsealed: now.last + events.length - now.sealed }
}

const standingSql = `
SELECT (SELECT value FROM meta WHERE key = 'format') AS format,
       (SELECT value FROM meta WHERE key = 'latest') AS noted,
       (SELECT max(position) FROM events) AS last,
       (SELECT position FROM checkpoints ORDER BY number DESC LIMIT 1) AS sealed,
       s.version, s.hash, w.data AS workspace
FROM (SELECT 1) LEFT JOIN streams s ON s.stream = ? LEFT JOIN workspaces w ON w.id = ?`

interface Standing {
  readonly format: number
  readonly noted: string
  readonly last: number
  readonly sealed: number
  readonly head: Head
  readonly workspace: Workspace | undefined
}

function standing(database: Database, stream: StreamId): Standing {
  const row = database.get(standingSql, stream, stream) ?? {}
  const { version, hash, workspace } = row
  return {
    format: Number(row['format']),
    noted: String(row['noted'] ?? ''),
    last: Number(row['last'] ?? 0),
    sealed: Number(row['sealed'] ?? 0),
    head: version === null ? emptyHead : { version: Number(version), hash: String(hash) },
    workspace: typeof workspace === 'string' ? parseFold(workspace) : undefined,
  }
}

function assertClaims(
  database: Database,
  before: Workspace | undefined,
  after: Workspace | undefined,
  { maxWorkspaces, space = {} }: AppendLimits,
): void {
  const { name, place } = newClaims(before, after)
  if (name && after) assertNameFree(after, holderOf(database, after.task, after.agent))
  if (place && maxWorkspaces !== undefined) assertBelowWorkspaceLimit(maxWorkspaces, countLive(database))
  for (const limit of newlyApplicableLimits(space, before, after))
    if (after) assertReservable(limit, after, reservedUnder(database, limit, after.id), needsReservation(before, after))
}

const saveHead = `
INSERT INTO streams (stream, version, hash) VALUES (?, ?, ?)
ON CONFLICT (stream) DO UPDATE SET version = excluded.version, hash = excluded.hash`

function store(database: Database, plan: readonly LogRecord[]): void {
  for (const record of plan) insertRecord(database, record)
  const last = plan.at(-1)
  if (last) database.run(saveHead, last.stream, last.version, last.hash)
}

/** What the first call was answered with. */
function foldUpTo(database: Database, stream: StreamId, events: readonly AnyEvent[]): Workspace | undefined {
  if (stream === 'home') return undefined
  const version = events.at(-1)?.version ?? 0
  const history = records(database, 'WHERE stream = ? AND version <= ? ORDER BY version', stream, version)
  return history.map((record) => decode(record)).reduce(evolve, undefined as Workspace | undefined)
}
