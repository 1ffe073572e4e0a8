import { AwError } from '../../../domain/errors.ts'

/** The tables of a home. `docs/spec/event-log.md` explains each; change one only with a migration. */

export const currentFormat = 5

/** Also asked inside every append: a newer program may have migrated the home meanwhile. */
export function assertFormat(found: number | undefined, current: number): void {
  if (found === current) return
  throw new AwError('home_version', `The home has format ${found}; this version of aw writes format ${current}`, {
    hint: 'Use the version of aw that wrote it, or a newer one',
    data: { format: found ?? null, supported: current },
  })
}

export const schema = `
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  id       TEXT NOT NULL UNIQUE,
  stream   TEXT NOT NULL,
  version  INTEGER NOT NULL,
  at       TEXT NOT NULL,
  type     TEXT NOT NULL,
  schema   INTEGER NOT NULL,
  task     TEXT,
  agent    TEXT,
  data     TEXT NOT NULL,
  meta     TEXT NOT NULL,
  hash     TEXT NOT NULL,
  UNIQUE (stream, version)
) STRICT;

CREATE INDEX events_of_task ON events (task) WHERE task IS NOT NULL;
CREATE INDEX requested_runs ON events (data ->> '$.run') WHERE type = 'run_requested';

CREATE TRIGGER events_never_change BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events never change'); END;
CREATE TRIGGER events_never_leave BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events never leave'); END;

CREATE TABLE streams (
  stream  TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  hash    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE workspaces (
  id           TEXT PRIMARY KEY,
  task         TEXT NOT NULL,
  agent        TEXT NOT NULL,
  state        TEXT NOT NULL,
  live         INTEGER NOT NULL,
  created_at   TEXT NOT NULL,
  updated_at   TEXT NOT NULL,
  version      INTEGER NOT NULL,
  in_operation INTEGER NOT NULL,
  has_trash    INTEGER NOT NULL,
  labels       TEXT NOT NULL,
  data         TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX live_names ON workspaces (task, agent) WHERE live = 1;
CREATE INDEX workspaces_in_operation ON workspaces (id) WHERE in_operation = 1;
CREATE INDEX workspaces_with_trash ON workspaces (id) WHERE has_trash = 1;

CREATE TABLE leases (
  resource    TEXT PRIMARY KEY,
  id          TEXT NOT NULL,
  holder      TEXT NOT NULL,
  acquired_at TEXT NOT NULL,
  expires_at  TEXT NOT NULL,
  active_at   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
  number   INTEGER PRIMARY KEY,
  at       TEXT NOT NULL,
  position INTEGER NOT NULL,
  events   INTEGER NOT NULL,
  hash     TEXT NOT NULL
) STRICT;
`
