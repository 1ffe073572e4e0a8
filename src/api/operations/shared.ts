import { boolean, choice, either, list, object, optional, string } from '../schema.ts'

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

export const restoring = {
  ...risks,
  restart: optional(boolean('End what runs in its sandbox, and start the sandbox anew afterwards')),
}

export const lifetime = optional(
  string('How long it is needed: 12h, 7d; then aw gc may move it to the trash', { 'x-cli': 'duration' }),
)

const ignored = choice(
  ['all', 'listed', 'none'],
  'Of a folder, the files that git ignores: all (the default), those listed in its .worktreeinclude, or none',
)

/** What something is made from. */
export const beginning = {
  from: optional(
    either(
      choice(['empty'], 'Start empty'),
      object({
        folder: optional(string('A folder of this machine: its whole state is copied')),
        exclude: optional(list(string('A pattern'), 'What is left out of the folder')),
        ignored: optional(ignored),
        archive: optional(string('A file that aw export made, or a tar file')),
        trust: optional(
          boolean('Keep owners, set-user-id bits, devices and capabilities of the archive: only for files of your own'),
        ),
        git: optional(
          object({
            url: string('https://…, ssh://…, user@host:path, or an absolute path'),
            ref: optional(string('A branch, a tag or a commit (default: the default branch)')),
            shallow: optional(boolean('Without its history (default: the setting git.shallow)')),
          }),
        ),
        workspace: optional(string('Another workspace: this one begins as a fork of it')),
        at: optional(string('Which snapshot of that workspace (default: as it is now)')),
        snapshot: optional(string('A snapshot by its id, of whichever workspace')),
      }),
      'Start empty (the default), or from a folder or an archive',
      { 'x-cli': 'start' },
    ),
  ),
  repo: optional(string('Start from a git repository: a url or a path', { 'x-cli': 'repository' })),
  ref: optional(string('Which branch, tag or commit of it (default: the default branch)')),
  full: optional(boolean('With the whole history of it')),
  from_workspace: optional(string('Start as a fork of this workspace')),
  at: optional(string('Which snapshot of it (default: as it is now)')),
  exclude: optional(list(string('A pattern'), 'Leave out what matches, as in a .gitignore')),
  ignored: optional(ignored),
}
