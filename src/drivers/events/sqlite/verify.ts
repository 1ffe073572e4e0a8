import { setImmediate as breath } from 'node:timers/promises'
import type { Head } from '../../../domain/log/chain.ts'
import { AwError } from '../../../domain/errors.ts'
import type { Verification } from '../../../ports/event-store.ts'
import type { Database } from './database.ts'
import { isSqliteError } from '../../../sys/locks/sqlite-errors.ts'
import { auditor, type Auditor } from '../audit.ts'
import { allCheckpoints } from './checkpoints.ts'
import { allRows, sameRow, workspaceRow } from './read-model.ts'
import { records } from './records.ts'

/**
 * Verifies what one read transaction of this connection sees. What SQLite cannot read is a finding as well, and the rest
 * is looked at all the same.
 */
export async function verify(
  database: Database,
  anchor: string | undefined | null,
  signal: AbortSignal | undefined,
): Promise<Verification> {
  const unreadable: string[] = []
  const attempt = async <T>(work: () => T | Promise<T>, otherwise: T): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (!isSqliteError(error)) throw error
      unreadable.push(`The file cannot be read: ${(error as Error).message}`)
      return otherwise
    }
  }

  const audit = auditor(await attempt(() => allCheckpoints(database), []))
  await attempt(() => checkFile(database, audit), undefined)
  await attempt(() => walk(database, audit, signal), undefined)
  const heads = await attempt(() => allHeads(database), new Map<string, Head>())
  const rows = new Map((await attempt(() => allRows(database), [])).map((row) => [String(row.id), row]))
  for (const message of unreadable) audit.unreadable(message)
  return audit.finish({
    heads,
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
    if (signal?.aborted) throw new AwError('aborted', 'The audit was cancelled', { cause: signal.reason })
    const page = records(database, 'WHERE position > ? ORDER BY position LIMIT ?', after, pageSize)
    for (const record of page) audit.record(record)
    after = page.at(-1)?.position ?? after
    if (page.length < pageSize) return
    await breath()
  }
}

const allHeads = (database: Database): Map<string, Head> =>
  new Map(
    database
      .all('SELECT stream, version, hash FROM streams')
      .map((row) => [String(row['stream']), { version: Number(row['version']), hash: String(row['hash']) }]),
  )
