import { boolean, optional, string } from '../schema.ts'

/** What several operations ask for, or answer with. */

export const id = string('The workspace: TASK/AGENT, TASK (means TASK/main) or its id ws_…')

export const absent = ['workspace_not_found', 'invalid_name'] as const

export const host = [
  'workspace_busy',
  'permission_denied',
  'disk_full',
  'filesystem_error',
  'storage_unavailable',
] as const

export const risks = {
  include_active: optional(boolean('Even if processes still work in it')),
  include_leased: optional(boolean('Even if somebody holds a lease on it')),
  force: optional(boolean('Both of the above')),
}
