import type { Database } from './database.ts'

/**
 * Makes a home of one format into one of the next, inside a write transaction and after a backup. The read model is made
 * anew after the last step, so a fold that has changed its shape needs a new format with nothing to do here.
 */
export interface Migration {
  readonly from: number
  up(database: Database): void
}

/** In order, without gaps: the last one ends at the current format. Format 1 is the first. */
export const migrations: readonly Migration[] = [
  // The fold of a workspace tells of its snapshots.
  { from: 1, up: () => undefined },
  // A lease tells when its holder was last active.
  {
    from: 2,
    up: (database) =>
      database.script(`
        ALTER TABLE leases ADD COLUMN active_at TEXT NOT NULL DEFAULT '';
        UPDATE leases SET active_at = acquired_at;`),
  },
  // A run is found by its id.
  {
    from: 3,
    up: (database) =>
      database.script("CREATE INDEX requested_runs ON events (data ->> '$.run') WHERE type = 'run_requested'"),
  },
  // The fold of a workspace tells of all restores that can be taken back, and on which branches it was.
  { from: 4, up: () => undefined },
]
