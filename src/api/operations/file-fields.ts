import { boolean, choice, integer, optional, pathIn, string } from '../schema.ts'

/** What operations on files have in common. */

export const id = string('The workspace: TASK/AGENT, TASK or ws_…')
export const path = pathIn('Path below the workspace')
export const absolute = optional(
  choice(
    ['reject', 'inside', 'rebase'],
    'What an absolute path means: an error, fine if inside (default), or relative to the workspace; with rebase in a workspace of the profile session, a backslash separates names too',
  ),
)
export const parents = optional(boolean('Make missing parent directories'))
export const replace = optional(boolean('Replace a file that is there'))
export const pathErrors = [
  'workspace_not_found',
  'invalid_state',
  'file_not_found',
  'invalid_path',
  'invalid_path_null_byte',
  'path_too_long',
  'absolute_path_not_allowed',
  'path_traversal_attempt',
  'path_outside_workspace',
  'symlink_outside_workspace',
  'cannot_resolve_symlinks',
  'permission_denied',
  'filesystem_error',
] as const
export const writeErrors = [
  ...pathErrors,
  'path_protected',
  'file_exists',
  'not_a_file',
  'not_a_directory',
  'disk_full',
  'quota_exceeded',
  'file_too_large',
] as const

/** Of those that write a file. */
export const writeFields = {
  absolute,
  parents: optional(boolean('Make missing parent directories', { default: true })),
  existing: optional(choice(['replace', 'error'], 'What to do with a file that is there (default replace)')),
  mode: optional(integer('Permission bits of a new file', { minimum: 0, maximum: 0o7777, 'x-cli': 'octal' })),
}
