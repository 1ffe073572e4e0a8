import type { Database } from '../../../sys/database.ts'

/** Makes a home of one format into one of the next, inside a write transaction and after a backup. */
export interface Migration {
  readonly from: number
  up(database: Database): void
}

/** In order, without gaps: the last one ends at the current format. Format 1 is the first. */
export const migrations: readonly Migration[] = []
