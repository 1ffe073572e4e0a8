import type { NewEvent, StreamId } from './event.ts'
import { sha256 } from './sha256.ts'
import { currentSchema } from './upcast.ts'

/**
 * The hash chain: pure functions from stored texts to hashes. `docs/spec/event-log.md` specifies the bytes, so that
 * anyone can verify a log without this program.
 */

/** An event as it is stored: texts and numbers, nothing to interpret. */
export interface LogRecord {
  readonly position: number
  readonly id: string
  readonly stream: string
  readonly version: number
  readonly at: string
  readonly type: string
  readonly schema: number
  /** Copies of `task_id` and `agent_id` in the data, for filters. Not hashed: `data` is. */
  readonly task: string | null
  readonly agent: string | null
  readonly data: string
  readonly meta: string
  readonly hash: string
}

/** Where a stream stands. */
export interface Head {
  readonly version: number
  readonly hash: string
}

/** The hash "before" the first record of a stream, and before the first checkpoint. */
export const noHash = ''

export const emptyHead: Head = { version: 0, hash: noHash }

export function recordHash(previous: string, record: Omit<LogRecord, 'hash' | 'task' | 'agent'>): string {
  const { stream, version, position, id, at, type, schema, data, meta } = record
  return hashOf(['aw-record-1', previous, stream, version, position, id, at, type, schema, data, meta])
}

/** The record that stores an event after this head and at this position. */
export function toRecord(stream: StreamId, before: Head, position: number, event: NewEvent): LogRecord {
  const { id, at, type } = event
  const whose = event.data as { task_id?: string; agent_id?: string }
  const record = {
    position,
    id,
    stream,
    version: before.version + 1,
    at,
    type,
    schema: currentSchema(type),
    task: whose.task_id ?? null,
    agent: whose.agent_id ?? null,
    data: JSON.stringify(event.data),
    meta: JSON.stringify(event.meta),
    hash: noHash,
  }
  record.hash = recordHash(before.hash, record)
  return record
}

export interface CheckpointContent {
  readonly number: number
  readonly at: string
  readonly position: number
  readonly events: number
}

/**
 * @param heads the streams with records since the checkpoint before, as they stand at the position. Streams that have
 *   none are sealed by an earlier checkpoint, and so by this one, whose hash covers the one before: sealing costs what
 *   changed.
 */
export function checkpointHash(previous: string, content: CheckpointContent, heads: ReadonlyMap<string, Head>): string {
  const { number, at, position, events } = content
  const sorted = [...heads].sort(([a], [b]) => (a < b ? -1 : 1))
  const lines = sorted.flatMap(([stream, { version, hash }]) => [stream, version, hash])
  return hashOf(['aw-checkpoint-1', previous, number, at, position, events, sorted.length, ...lines])
}

/** Each field is its length in bytes, a colon, its UTF-8 bytes and a comma, so no two lists of fields share bytes. */
function hashOf(fields: readonly (string | number)[]): string {
  let bytes = ''
  for (const field of fields) {
    const text = String(field)
    bytes += `${Buffer.byteLength(text)}:${text},`
  }
  return sha256(bytes)
}
