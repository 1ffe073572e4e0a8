import { setImmediate as breath } from 'node:timers/promises'
import type { Head } from '../../../domain/chain.ts'
import { toAwError } from '../../../domain/errors.ts'
import type { Verification } from '../../../ports/event-store.ts'
import type { Database } from '../../../sys/database.ts'
import { auditor, type Auditor } from '../audit.ts'
import { allCheckpoints } from './checkpoints.ts'
import { allRows, sameRow, workspaceRow } from './read-model.ts'
import { records } from './records.ts'

/** Verifies what one read transaction of this connection sees. */
export async function verify(
  database: Database,
  anchor: string | undefined | null,
  signal: AbortSignal | undefined,
): Promise<Verification> {
  const audit = auditor(allCheckpoints(database))
  try {
    checkFile(database, audit)
    await walk(database, audit, signal)
  } catch (error) {
    const { code, message } = toAwError(error)
    if (code !== 'log_damaged') throw error
    audit.unreadable(message)
  }
  const rows = new Map(allRows(database).map((row) => [String(row.id), row]))
  return audit.finish({
    heads: new Map(
      database
        .all('SELECT stream, version, hash FROM streams')
        .map((row): [string, Head] => [
          String(row['stream']),
          { version: Number(row['version']), hash: String(row['hash']) },
        ]),
    ),
    anchor,
    readModel: {
      ids: [...rows.keys()],
      matches: (workspace) => {
        const row = rows.get(workspace.id)
        return row !== undefined && sameRow(row, workspaceRow(workspace))
      },
    },
  })
}

/** The pages and indexes of the file: an index that lies would hide a record from whoever looks it up. */
function checkFile(database: Database, audit: Auditor): void {
  const lines = database.all('PRAGMA integrity_check').map((row) => String(row['integrity_check']))
  if (lines[0] === 'ok') return
  for (const line of lines) audit.unreadable(`The file is damaged: ${line}`)
}

const pageSize = 1000

async function walk(database: Database, audit: Auditor, signal: AbortSignal | undefined): Promise<void> {
  for (let after = 0; ;) {
    const page = records(database, 'WHERE position > ? ORDER BY position LIMIT ?', after, pageSize)
    for (const record of page) audit.record(record)
    after = page.at(-1)?.position ?? after
    if (page.length < pageSize) return
    await breath(undefined, { signal })
  }
}
