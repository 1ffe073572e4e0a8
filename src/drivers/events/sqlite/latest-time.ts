import type { Database } from './database.ts'

/** How late it has been in this home: a row of `meta`, and what the log itself tells. ISO 8601, so texts compare. */

const latestSql = `
SELECT max(
  ifnull((SELECT value FROM meta WHERE key = 'latest'), ''),
  ifnull((SELECT at FROM events ORDER BY position DESC LIMIT 1), ''),
  ifnull((SELECT at FROM checkpoints ORDER BY number DESC LIMIT 1), '')) AS latest`

export const latestTime = (database: Database): string => String(database.get(latestSql)?.['latest'] ?? '')

export const recordedLatestTime = (database: Database): string =>
  String(database.get("SELECT value FROM meta WHERE key = 'latest'")?.['value'] ?? '')

/** Inside a write transaction. */
export const recordLatestTime = (database: Database, at: string): void =>
  database.run(
    `INSERT INTO meta (key, value) VALUES ('latest', ?)
     ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`,
    at,
  )

const coarseMs = 60_000

/** Events come often, and the last one is always there: it is enough to note the time of one now and then. */
export const isWorthRecording = (at: string, noted: string): boolean =>
  noted === '' || Date.parse(at) - Date.parse(noted) >= coarseMs
