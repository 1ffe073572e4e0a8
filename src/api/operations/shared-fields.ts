import { maxCount } from '../../domain/text/max-values.ts'
import { isolations } from '../../domain/sandbox/spec.ts'
import {
  anything,
  boolean,
  choice,
  either,
  integer,
  json,
  list,
  nullable,
  object,
  optional,
  pairs,
  string,
} from '../schema.ts'

/** What several operations ask for, or answer with. */

export const id = string('The workspace: TASK/AGENT, TASK (means TASK/main) or its id ws_…')

export const workspaceErrors = ['workspace_not_found', 'invalid_name'] as const

export const hostErrors = [
  'workspace_busy',
  'permission_denied',
  'disk_full',
  'filesystem_error',
  'storage_unavailable',
] as const

export const riskFields = {
  include_active: optional(boolean('Even if processes still work in it')),
  include_leased: optional(boolean('Even if somebody holds a lease on it')),
  force: optional(boolean('Both of the above')),
}

export const restoreFields = {
  ...riskFields,
  restart: optional(boolean('End what runs in its sandbox, and start the sandbox anew afterwards')),
}

export const ttlField = optional(
  string('How long it is needed: 12h, 7d; then aw gc may move it to the trash', { 'x-cli': 'duration' }),
)

const ignored = choice(
  ['all', 'listed', 'none'],
  'Of a folder, the files that git ignores: all (the default), those listed in its .worktreeinclude, or none',
)

const origins = {
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
      ref: optional(nullable(string('A branch, a tag or a commit (default, and null: the default branch)'))),
      shallow: optional(nullable(boolean('Without its history (default: the setting git.shallow)'))),
    }),
  ),
  workspace: optional(string('Another workspace: this one begins as a fork of it')),
  at: optional(string('Which snapshot of that workspace (default: as it is now)')),
  snapshot: optional(string('A snapshot by its id, of whichever workspace')),
}

const empty = choice(['empty'], 'Start empty')
const about = 'Start empty (the default), or from a folder or an archive'
const template = string('Start from a template: NAME, or NAME@VERSION')

/** What something is made from. */
export const sourceFields = {
  from: optional(either(empty, object(origins), about, { 'x-cli': 'start' })),
  repo: optional(
    string('Start from a commit of a git repository: a url or a path; what is not committed stays behind', {
      'x-cli': 'repository',
    }),
  ),
  ref: optional(string('Which branch, tag or commit of it (default: the default branch)')),
  full: optional(boolean('With the whole history of it')),
  from_workspace: optional(string('Start as a fork of this workspace')),
  at: optional(string('Which snapshot of it (default: as it is now)')),
  exclude: optional(list(string('A pattern'), 'Leave out what matches, as in a .gitignore')),
  ignored: optional(ignored),
}

const derived = optional(anything('Ignored: it follows from the workspace'))

/** Null is taken for a field that was left out, as callers of older managers send it. */
const configuration = {
  max_size_mb: optional(
    nullable(integer('Largest size of its tree; 0 for no limit', { minimum: 0, maximum: maxCount })),
  ),
  allowed_operations: optional(
    list(string('read, write or execute'), 'What may be done in it: read, write, execute (default: all three)'),
  ),
  git_config: optional(
    nullable(
      object({
        enabled: optional(nullable(boolean('Run git init (default: the setting git.enabled)'))),
        user_name: optional(nullable(string('Name of the author of commits (default: the setting git.user_name)'))),
        user_email: optional(nullable(string('Address of that author (default: the setting git.user_email)'))),
      }),
    ),
  ),
  claude_md: optional(nullable(string('Instructions for agents, added to CLAUDE.md and AGENTS.md'))),
  agent_files: optional(
    nullable(
      object({
        blocks: optional(nullable(pairs('Instructions for agents, by name, such as workspace_rules'))),
        variables: optional(nullable(pairs('What is filled in where a block says {{NAME}}'))),
      }),
    ),
  ),
  agent_file_names: optional(list(string('A file name'), 'Files that get these instructions besides the usual ones')),
  task_spec: optional(nullable(json('What is to be done, for the metadata directory'))),
  context: optional(nullable(json('What else agents should know, for the metadata directory'))),
  run: optional(nullable(json('Fields of run.json in the metadata directory'))),
  task_id: derived,
  agent_id: derived,
  workspace_path: derived,
  created_at: derived,
}

/** What a workspace is made with. */
export const creationFields = {
  id: optional(string('Name of the new workspace: TASK/AGENT, or TASK for TASK/main')),
  generate: optional(string('Make up a name from this text, for instance "planning" gives planning-x7k2f9/main')),
  profile: optional(string('Layout: aw, ipa, repo or session (default: the configured profile)')),
  ...sourceFields,
  from: optional(
    either(
      empty,
      object({ ...origins, template: optional(template) }),
      'Start empty (the default, unless the setting workspaces.template names a template), or from a folder or an archive',
      { 'x-cli': 'start' },
    ),
  ),
  template: optional(template),
  variables: optional(pairs('What is filled in where the template says {{NAME}}')),
  config: optional({
    ...object(
      configuration,
      'Configuration: max_size_mb, allowed_operations, git_config, claude_md, agent_files, agent_file_names, task_spec, context',
    ),
    'x-cli': 'json',
  }),
  labels: optional(pairs('Labels to find it by')),
  ttl: ttlField,
}

export const sourceErrors = ['source_failed', 'template_not_found', 'snapshot_not_found', 'file_not_found'] as const

/** What making something of a source may answer. */
export const creationErrors = ['source_failed', 'invalid_input', 'invalid_name', ...hostErrors] as const

/** What a sandbox is made of. */
export const sandboxFields = {
  isolation: optional(
    choice(
      isolations,
      'namespace: walls of the kernel; guarded: fewer, where there are no user namespaces; none: a working directory only',
    ),
  ),
  network: optional(choice(['none', 'allowlist', 'host'], 'What it may reach (default: the setting, none)')),
  allow: optional(
    list(
      string('A host, HOST:PORT, *.DOMAIN or a preset such as npm'),
      'Hosts it may reach, through a proxy that logs: HOST, HOST:PORT, *.DOMAIN or a preset such as npm',
    ),
  ),
  shared: optional(
    list(
      string('NAME, NAME:ro, NAME:/path or NAME:/path:ro'),
      'Shared areas to attach, at /shared/NAME: NAME, NAME:ro, NAME:/path or NAME:/path:ro',
    ),
  ),
  agent: optional(string('The agent that is to work in it: claude, codex … (aw agents list)')),
  mcp: optional(
    boolean(
      'An MCP bridge: what runs inside reaches the tools of its own workspace at AW_MCP_URL; needs aw serve (default: the setting, off)',
    ),
  ),
  memory_mb: optional(integer('Memory of all of it; 0 for no limit', { minimum: 0 })),
  cpu_percent: optional(integer('Processor time, in percent of one core; 0 for no limit', { minimum: 0 })),
  processes: optional(integer('How many processes; 0 for no limit', { minimum: 0 })),
  open_files: optional(integer('Open files of a process; 0 for no limit', { minimum: 0 })),
  file_size_mb: optional(integer('Largest file that may be written; 0 for no limit', { minimum: 0 })),
}

export const sandboxErrors = [
  'sandbox_unenforceable',
  'invalid_state',
  'shared_not_found',
  'limit_reached',
  'quota_exceeded',
  'agent_not_found',
  'agent_not_installed',
  'invalid_config',
  // Of the MCP bridge.
  'daemon_unavailable',
] as const
