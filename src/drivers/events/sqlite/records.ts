import type { LogRecord } from '../../../domain/log/chain.ts'
import type { AnyEvent, EventType, StreamId } from '../../../domain/log/event.ts'
import { decode } from '../../../domain/log/upcast.ts'
import type { Database } from './database.ts'

export const recordColumns = 'position, id, stream, version, at, type, schema, task, agent, data, meta, hash'

const insert = `INSERT INTO events (${recordColumns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export function insertRecord(database: Database, record: LogRecord): void {
  const { position, id, stream, version, at, type, schema, task, agent, data, meta, hash } = record
  database.run(insert, position, id, stream, version, at, type, schema, task, agent, data, meta, hash)
}

export const records = (database: Database, rest: string, ...cells: (string | number)[]): LogRecord[] =>
  database.all(`SELECT ${recordColumns} FROM events ${rest}`, ...cells) as unknown as LogRecord[]

const byId = `SELECT ${recordColumns} FROM events WHERE id = ?`

export function eventById(database: Database, id: string): AnyEvent | undefined {
  const row = database.get(byId, id)
  return row && decode(row as unknown as LogRecord)
}

const pageSize = 500

/** Page by page, so that a long history neither fills the memory nor holds up other work. */
export async function* readStream(
  database: Database,
  stream: StreamId,
  after: number,
  types?: readonly EventType[],
): AsyncGenerator<AnyEvent> {
  const ofTypes = types === undefined ? '' : 'AND type IN (SELECT value FROM json_each(?))'
  const cells = types === undefined ? [] : [JSON.stringify(types)]
  for (let last = after; ;) {
    const page = await database.reading(() =>
      records(
        database,
        `WHERE stream = ? AND version > ? ${ofTypes} ORDER BY version LIMIT ?`,
        stream,
        last,
        ...cells,
        pageSize,
      ),
    )
    for (const record of page) yield decode(record)
    last = page.at(-1)?.version ?? last
    if (page.length < pageSize) return
  }
}

export const lastPosition = (database: Database): number =>
  Number(database.get('SELECT max(position) AS last FROM events')?.['last'] ?? 0)
