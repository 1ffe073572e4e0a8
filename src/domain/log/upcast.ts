import type { LogRecord } from './chain.ts'
import { AwError } from '../errors.ts'
import type { AnyEvent, EventType } from './event.ts'

/** Makes the payload of one schema into that of the next. Pure; it sees what was stored and nothing else. */
export type Upcast = (data: Record<string, unknown>) => Record<string, unknown>

export type UpcastTable = Readonly<Record<string, readonly Upcast[]>>

/** Before there were snapshots. */
const withoutSnapshots: Upcast = (data) => ({ ...data, snapshots: [] })

/** Before something could be run in templates. */
const withoutSetup: Upcast = (data) => ({ ...data, setup: null })

/** Before it was kept how the sandbox of a command, or of a set-up, holds. */
const withoutWalls: Upcast = (data) => ({ ...data, walls: null })

/**
 * How each type of event has changed: its n-th function makes schema n into n + 1, so a type with none is at schema 1.
 * What is stored never changes; old events are made new each time they are read. Every schema that was ever written
 * keeps a sample in `test/samples/events/`.
 */
export const upcasts = {
  workspace_create_started: [],
  workspace_created: [],
  workspace_source_failed: [],
  workspace_destroy_started: [],
  workspace_cleanup: [],
  workspace_undelete_started: [],
  workspace_undeleted: [],
  workspace_purge_started: [withoutSnapshots],
  workspace_purged: [withoutSnapshots],
  workspace_reset_started: [],
  workspace_reset: [],
  workspace_rename_started: [],
  workspace_renamed: [],
  snapshot_started: [],
  snapshot_created: [],
  snapshot_labelled: [],
  snapshot_remove_started: [],
  snapshot_removed: [],
  workspace_restore_started: [],
  workspace_restored: [],
  workspace_branched: [],
  workspace_labelled: [],
  workspace_ttl_set: [],
  workspace_limit_set: [],
  workspace_archive_started: [],
  workspace_archived: [],
  workspace_archive_removed: [],
  sandbox_launch_started: [],
  sandbox_launched: [],
  sandbox_stop_started: [],
  sandbox_stopped: [],
  workspace_slot_taken: [],
  command_started: [withoutWalls],
  command_ended: [],
  run_requested: [],
  run_started: [],
  run_cancel_started: [],
  run_completed: [],
  run_failed: [],
  run_cancelled: [],
  env_changed: [],
  operation_taken: [],
  operation_abandoned: [],
  workspace_lost: [],
  trash_lost: [],
  workspace_found: [],
  lease_acquired: [],
  lease_adopted: [],
  lease_released: [],
  home_created: [],
  home_migrated: [],
  leftovers_removed: [],
  base_started: [],
  base_created: [],
  base_removed: [],
  template_saved: [withoutSetup],
  template_setup_started: [],
  template_setup_ended: [withoutWalls],
  template_removed: [],
  shared_started: [],
  shared_created: [],
  shared_removed: [],
  shared_purged: [],
  shared_undeleted: [],
  token_created: [],
  token_revoked: [],
} as const satisfies Record<EventType, readonly Upcast[]>

export const currentSchema = (type: EventType): number => upcasts[type].length + 1

/**
 * The event that a record holds, in today's shape; `schema` still says how it was written. An event of an unknown type
 * or of a newer schema comes out as it was stored: a newer program wrote it, and readers pass over what they do not
 * know. Only a record that is not JSON at all is `log_damaged`.
 */
export function decode(record: LogRecord, table: UpcastTable = upcasts): AnyEvent {
  const { id, stream, version, position, at, type, schema, hash } = record
  const stored = parse(record, record.data)
  const steps = Object.hasOwn(table, type) ? (table[type] ?? []) : []
  const data = schema > steps.length ? stored : steps.slice(schema - 1).reduce((older, upcast) => upcast(older), stored)
  const meta = parse(record, record.meta)
  return { id, stream, version, position, at, type, schema, data, meta, hash } as unknown as AnyEvent
}

function parse(record: LogRecord, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (value === null || typeof value !== 'object') throw new SyntaxError('It is not an object')
    return value as Record<string, unknown>
  } catch (cause) {
    throw new AwError('log_damaged', `Event ${record.version} of ${record.stream} cannot be read`, {
      hint: 'Run: aw audit verify',
      data: { stream: record.stream, version: record.version },
      cause,
    })
  }
}
