import { thingKinds } from '../../domain/retention.ts'
import { operation } from '../operation.ts'
import { boolean, choice, integer, list, nullable, object, optional, string } from '../schema.ts'
import { checkpointView, eventView, findingView, problemView, settingView, workspaceView } from '../views.ts'
import { absent, id } from './shared.ts'

const itemResult = object({
  id: string('The workspace'),
  name: string('Its name'),
  ok: boolean('Whether it worked'),
  error: nullable(
    object({ code: string('Code'), message: string('What happened'), hint: nullable(string('What to do')) }),
  ),
})

export const careOperations = [
  operation({
    name: 'events',
    kind: 'read',
    group: 'Log',
    summary: 'Show what happened, oldest first',
    input: object({
      task: optional(string('Only of this task')),
      workspace: optional(string('Only of this workspace (name or id, also of a destroyed one)')),
      type: optional(list(string('A type'), 'Only these types')),
      after: optional(integer('Only after this position', { minimum: 0 })),
      limit: optional(integer('At most so many', { minimum: 1 })),
      follow: optional(boolean('Go on with what happens next')),
      from_now: optional(boolean('Leave out what happened before')),
    }),
    output: eventView,
    form: 'stream',
    positional: [],
    flags: { 'task-id': 'task' },
    errors: ['workspace_not_found', 'invalid_input', 'log_busy'],
    examples: ['aw events --task task-1', 'aw events --follow --json'],
  }),
  operation({
    name: 'audit verify',
    kind: 'read',
    group: 'Log',
    summary: 'Check that nobody changed the log',
    input: object({}),
    output: object({
      intact: boolean('Whether everything verifies'),
      events: integer('Records in the log'),
      streams: integer('Streams in the log'),
      checkpoint: nullable(checkpointView),
      unsealed: integer('Records after the last checkpoint'),
      anchor: choice(['checked', 'missing', 'none'], 'Whether the anchor file agrees'),
      problems: list(problemView, 'What does not verify'),
    }),
    positional: [],
    errors: ['log_busy'],
    examples: ['aw audit verify'],
  }),
  operation({
    name: 'audit seal',
    kind: 'write',
    group: 'Log',
    summary: 'Seal the log now and print the checkpoint',
    input: object({}),
    output: object({ checkpoint: nullable(checkpointView) }),
    positional: [],
    errors: ['log_busy', 'disk_full'],
    examples: ['aw audit seal --json'],
  }),
  operation({
    name: 'ttl',
    kind: 'write',
    group: 'Care',
    summary: 'Show or say how long a workspace is still needed',
    details:
      'When that time is over, the next aw gc moves it to the trash, unless a process or a lease holds it or it has the label keep. From there it can be brought back as long as trash is kept.',
    input: object({
      id,
      duration: optional(string('From now on: 12h, 7d; or none: it has no end. Left out, nothing changes')),
    }),
    output: workspaceView,
    positional: ['id', 'duration'],
    states: 'ttl',
    errors: [...absent, 'invalid_input', 'invalid_state', 'workspace_busy'],
    examples: ['aw ttl fix-login', 'aw ttl fix-login 12h', 'aw ttl fix-login none'],
  }),
  operation({
    name: 'gc',
    kind: 'destructive',
    group: 'Care',
    summary: 'Erase what nobody needs any more, and move workspaces to the trash whose time is over',
    details:
      'Goes first what is made again by itself: unfinished trees, bases and caches that were not used for long. Then trees that were in the trash for long enough, spare snapshots, old archives. Workspaces only move to the trash, and only those with a time of their own (--ttl) or if workspaces.retention_days or space.high_percent is set; never one that a process or a lease holds, or that has the label keep.',
    input: object({
      plan: optional(boolean('Only show what would go')),
      older_than: optional(
        string('Trashed longer ago than this instead of the configured retention: 12h, 7d, 0s', {
          'x-cli': 'duration',
        }),
      ),
    }),
    output: object({
      applied: boolean('False for a plan'),
      items: list(
        object({
          kind: choice(thingKinds, 'What it is'),
          action: choice(['erase', 'trash'], 'Whether it is erased, or moved to the trash'),
          tree: string('Its name: of a tree, snapshot, base or cache, the path of an archive, the id of a workspace'),
          workspace: nullable(string('Whose it was')),
          shared: nullable(string('The shared area that it was')),
          reason: string('Why it may go'),
          bytes: integer('What it gives back: at once, or when the trash is emptied'),
          archive: nullable(string('The file that was made of it before')),
          error: nullable(string('Why it could not go')),
        }),
        'In the order in which it goes',
      ),
      kept: list(
        object({
          kind: choice(thingKinds, 'What it is'),
          tree: string('Its name'),
          workspace: nullable(string('Whose it is')),
          shared: nullable(string('The shared area that it was')),
          reason: string('Why it stays'),
        }),
        'What was left alone though its time was over',
      ),
      bytes: integer('What erasing gives back in all'),
      later_bytes: integer('What moved to the trash, and comes back when that is emptied'),
      space: object({
        used_percent: integer('How full the storage is now'),
        high_percent: nullable(integer('Above that, room is made; null: never')),
        low_percent: nullable(integer('Until it is no fuller than that')),
        warning: nullable(string('What should be known about it')),
      }),
    }),
    positional: [],
    errors: ['workspace_busy', 'invalid_config', 'storage_unavailable', 'filesystem_error', 'aborted'],
    examples: ['aw gc --plan', 'aw gc'],
  }),
  operation({
    name: 'recover',
    kind: 'write',
    group: 'Care',
    summary: 'Finish or undo what a crash left behind, and compare log and disk',
    input: object({
      id: optional(string('Only this workspace (name or id)')),
      steal: optional(boolean('Also take over from a process that is stuck: it is killed first')),
    }),
    output: object({
      recovered: list(
        object({
          id: string('The workspace'),
          name: string('Its name'),
          operation: string('What was in progress'),
          outcome: string('What became of it'),
        }),
      ),
      busy: list(
        object({
          id: string('The workspace'),
          name: string('Its name'),
          operation: string('In progress'),
          pid: integer('By this process'),
        }),
      ),
      failed: list(
        object({
          id: string('The workspace'),
          name: string('Its name'),
          operation: string('What was tried'),
          message: string('Why it did not work'),
        }),
      ),
      found: list(string('Name'), 'Workspaces that were given up as lost and are in the trash now'),
      relinked: list(string('Name'), 'Workspaces whose path was made anew'),
      lost: list(string('Name'), 'Workspaces whose tree or snapshots are gone from disk'),
      orphans: list(string('Tree'), 'Trees on disk that the log does not know; kept'),
      leftovers: list(string('Tree'), 'Unfinished trees that were erased'),
    }),
    positional: ['id'],
    errors: ['workspace_not_found', 'workspace_busy', 'storage_unavailable', 'permission_denied'],
    examples: ['aw recover', 'aw recover fix-login --steal'],
  }),
  operation({
    name: 'shutdown',
    kind: 'destructive',
    group: 'Care',
    summary: 'Apply the shutdown policy to the workspaces of a task, or to all',
    input: object({
      task: optional(string('Only of this task')),
      policy: optional(choice(['keep', 'stop', 'trash'], 'What to do (default: the configured policy, keep)')),
      timeout_ms: optional(integer('Stop after this time (default: the configured 5 s)', { minimum: 1 })),
    }),
    output: object({
      policy: string('What was applied'),
      results: list(itemResult),
      timed_out: boolean('Whether the time ran out'),
    }),
    positional: [],
    flags: { 'task-id': 'task' },
    errors: ['invalid_input'],
    examples: ['aw shutdown --task-id task-1 --policy trash'],
  }),
  operation({
    name: 'doctor',
    kind: 'read',
    group: 'Care',
    summary: 'Try what this machine can do, and say how to get more',
    input: object({
      rebuild: optional(boolean('Make the read model anew from the log')),
      agent: optional(string('Also start this agent in a sandbox of each level: claude, codex … (aw agents list)')),
    }),
    output: object({ ok: boolean('False if something is broken'), findings: list(findingView) }),
    positional: [],
    errors: ['agent_not_found', 'invalid_config'],
    examples: ['aw doctor', 'aw doctor --agent claude', 'aw doctor --json'],
  }),
  operation({
    name: 'config show',
    kind: 'read',
    group: 'Care',
    summary: 'Show every setting, its value and where it came from',
    input: object({}),
    output: object({
      home: string('The home'),
      file: nullable(string('The configuration file')),
      settings: list(settingView),
    }),
    positional: [],
    errors: ['invalid_config'],
    examples: ['aw config show'],
  }),
] as const
