import { checkpointHash, noHash, type Head } from '../../../domain/log/chain.ts'
import type { Checkpoint } from '../../../ports/event-store.ts'
import type { Database } from './database.ts'
import { durableFile, readIfPresent } from '../../../sys/fs/durable-file.ts'
import { anchorRest } from '../anchor.ts'

const columns = 'number, at, position, events, hash'

export const allCheckpoints = (database: Database): Checkpoint[] =>
  database.all(`SELECT ${columns} FROM checkpoints ORDER BY number`) as unknown as Checkpoint[]

const lastCheckpoint = (database: Database): Checkpoint | undefined =>
  database.get(`SELECT ${columns} FROM checkpoints ORDER BY number DESC LIMIT 1`) as unknown as Checkpoint | undefined

/** `max(version)` chooses the row that the hash is taken from. */
const headsSince = `
SELECT stream, max(version) AS version, hash, count(*) AS count, max(position) AS position
FROM events WHERE position > ? GROUP BY stream`

/** Inside a write transaction. */
export function seal(database: Database, at: string): Checkpoint | undefined {
  const previous = lastCheckpoint(database)
  const rows = database.all(headsSince, previous?.position ?? 0)
  if (rows.length === 0) return undefined
  const heads = new Map<string, Head>(
    rows.map((row) => [String(row['stream']), { version: Number(row['version']), hash: String(row['hash']) }]),
  )
  const content = {
    number: (previous?.number ?? 0) + 1,
    at,
    position: rows.reduce((last, row) => Math.max(last, Number(row['position'])), 0),
    events: rows.reduce((sum, row) => sum + Number(row['count']), previous?.events ?? 0),
  }
  const checkpoint = { ...content, hash: checkpointHash(previous?.hash ?? noHash, content, heads) }
  const { number, position, events, hash } = checkpoint
  database.run(`INSERT INTO checkpoints (${columns}) VALUES (?, ?, ?, ?, ?)`, number, at, position, events, hash)
  return checkpoint
}

/**
 * Inside a write transaction, which makes it the anchor's only writer. It comes after the commit of the checkpoint: a
 * crash in between leaves an anchor that is behind, and the next to pass here completes it.
 */
export function completeAnchor(database: Database, anchor: string): void {
  const text = readIfPresent(anchor)
  const checkpoints = allCheckpoints(database)
  // An anchor that was removed is not made up from the log: its absence says something.
  const rest = text === undefined ? anchorRest('', checkpoints.slice(-1)) : anchorRest(text, checkpoints)
  if (rest !== '') durableFile.append(anchor, rest)
}

/** Inside a write transaction: the anchor as it is once a checkpoint that is being made has arrived in it. */
export function anchorText(database: Database, anchor: string): string | undefined {
  try {
    if (anchorIsBehind(database, anchor)) completeAnchor(database, anchor)
  } catch {
    // Then the checkpoints cannot be read either, and the audit says so.
  }
  return readIfPresent(anchor)
}

/** Whether a crash left the anchor behind. Reads two rows and one line, for every start. */
export function anchorIsBehind(database: Database, anchor: string): boolean {
  const last = lastCheckpoint(database)
  const text = readIfPresent(anchor)
  return last !== undefined && text !== undefined && anchorRest(text, [last]) !== ''
}
