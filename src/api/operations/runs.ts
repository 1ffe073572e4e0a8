import { isolations } from '../../domain/sandbox/spec.ts'
import { runSnapshots, runStates } from '../../domain/workspace/runs.ts'
import { workspaceStates } from '../../domain/workspace/state.ts'
import { operation } from '../operation.ts'
import { boolean, bytes, choice, integer, list, nullable, object, optional, pairs, string } from '../schema.ts'
import { exitView } from '../views.ts'
import { absent, creation, host, id, refused, sources, walls } from './shared.ts'

const runView = {
  run: string('Its id, run_…'),
  number: integer('Which of the workspace, counted from 1'),
  workspace: string('Of which workspace: TASK/AGENT'),
  state: choice(runStates, 'Where it is'),
  agent: nullable(string('Which agent; null: a command')),
  argv: list(string('An argument'), 'The command; of an agent none, as the prompt is a part of it'),
  argv_cut: boolean('There were more arguments'),
  label: nullable(string('The first line of the prompt, if that is recorded')),
  requested_at: string('When it was asked for (ISO 8601)'),
  started_at: nullable(string('When it began')),
  ended_at: nullable(string('When it ended')),
  exit: nullable(object(exitView)),
  problem: nullable(object({ code: string('Code'), message: string('What happened') })),
  before: nullable(string('The snapshot of the workspace before it')),
  snapshot: nullable(string('What it left, if it changed anything and that was kept')),
  not_kept: nullable(
    object({ code: string('Code'), message: string('What happened') }, 'Why what it left could not be kept'),
  ),
}

const run = object(runView)

const changes = object({
  added: integer('Paths that are new'),
  changed: integer('Paths whose content or kind is another'),
  removed: integer('Paths that are gone'),
})

export const runOperations = [
  operation({
    name: 'run',
    kind: 'write',
    group: 'Runs',
    summary: 'Run an agent or a command in a workspace of its own, and say what it changed',
    details:
      'Makes the workspace, or takes the one named by --id; keeps it as it is; runs the agent with the prompt, or the command after --, in a sandbox; shows what it writes; keeps what it left as one snapshot. The run goes on when the terminal is closed, and also when this process is killed: follow it again with aw logs. Ctrl-C cancels it. The exit code is that of what ran; 125 for every failure of aw itself, 130 if it was cancelled.',
    input: object({
      prompt: optional(
        string('What the agent is to do, in quotes, or @FILE; a command finds it in the file AW_PROMPT_FILE', {
          'x-cli': 'prompt',
        }),
      ),
      argv: optional(
        list(string('An argument'), 'A program and its arguments instead of an agent', { 'x-cli': 'command' }),
      ),
      ...creation,
      id: optional(
        string('The workspace: a new name, or one that exists if nothing is said about what it starts from'),
      ),
      model: optional(string('Which model the agent is to use')),
      resume: optional(boolean('Go on with the last conversation of the agent in this workspace')),
      count: optional(
        integer('So many at once, each in a fork of one start: ID-1, ID-2 …', { minimum: 1, maximum: 100 }),
      ),
      detach: optional(boolean('Do not wait: print the workspace as soon as it runs')),
      record_prompt: optional(
        boolean('Keep the prompt in run.json (default: the setting); --no-record-prompt keeps only its hash'),
      ),
      cwd: optional(string('Where it starts, counted from where the content is')),
      env: optional(pairs('Variables for it')),
      ...walls,
      agent: optional(string('Which agent: claude, codex … (aw agents list); default: the setting runs.agent')),
      timeout_ms: optional(integer('End it after so long', { minimum: 0 })),
      snapshot: optional(choice(runSnapshots, 'Keep the workspace before and after it (default: the setting)')),
    }),
    output: object({
      type: choice(['started', 'stdout', 'stderr', 'lost', 'ended', 'failed'], 'What this item is'),
      workspace: string('Of which workspace'),
      path: optional(string('Its directory')),
      run: optional(run),
      isolation: optional(choice(isolations, 'Behind which walls it runs')),
      notes: optional(list(string('A note'), 'What its owner should know')),
      data: optional(bytes('What it wrote')),
      lost: optional(integer('So many bytes of its output are not there')),
      changes: optional(nullable(changes)),
      error: optional(
        object({ code: string('Code'), message: string('What happened'), hint: nullable(string('What to do')) }),
      ),
    }),
    form: 'stream',
    ends: true,
    positional: ['prompt', 'argv'],
    flags: { label: 'labels', var: 'variables' },
    states: 'exec',
    errors: [
      ...absent,
      ...host,
      ...refused,
      ...sources,
      'workspace_exists',
      'workspace_active',
      'file_not_found',
      'sandbox_gone',
      'invalid_input',
      'aborted',
      'timeout',
    ],
    examples: [
      'aw run --repo . --agent claude "Mend the login form"',
      'aw run --repo https://github.com/acme/web.git --id fix-login -- npm test',
      'aw run --from ./site --count 3 --agent codex "Make the page faster"',
      'aw run --id fix-login --agent claude --resume "Now add a test"',
    ],
  }),
  operation({
    name: 'runs',
    kind: 'read',
    group: 'Runs',
    summary: 'List runs: the last of each workspace, or all of one',
    input: object({
      id: optional(id),
      state: optional(list(choice(runStates, 'A state'), 'Only those in these states')),
      limit: optional(integer('Only the last so many', { minimum: 1 })),
    }),
    output: list(run, 'Oldest first'),
    positional: ['id'],
    errors: [...absent],
    examples: ['aw runs', 'aw runs fix-login', 'aw runs --state running --json'],
  }),
  operation({
    name: 'status',
    kind: 'read',
    group: 'Runs',
    summary: 'Show all workspaces and what runs in them; on a terminal, live',
    input: object({ task: optional(string('Only those of this task')) }),
    output: object({
      workspaces: list(
        object({
          workspace: string('TASK/AGENT'),
          state: choice(workspaceStates, 'Where it is in its life'),
          operation: nullable(string('What is being done with it')),
          isolation: nullable(choice(isolations, 'Behind which walls its sandbox is; null: it has none')),
          commands: integer('How many commands run in it'),
          snapshots: integer('How many snapshots it has'),
          created_at: string('When it was made (ISO 8601)'),
          updated_at: string('When its history last grew'),
          problem: nullable(object({ code: string('Code'), message: string('What happened') })),
          run: nullable(run),
        }),
        'Live workspaces with their last run, the one that changed last at the end',
      ),
      running: integer('How many runs are under way or wait'),
      trashed: integer('How many workspaces are in the trash'),
    }),
    positional: ['task'],
    errors: [],
    examples: ['aw status', 'aw status fix-login --once', 'aw status --json'],
  }),
  operation({
    name: 'logs',
    kind: 'read',
    group: 'Runs',
    summary: 'Show what a run wrote',
    details: 'Of a run that is under way, what it has written so far; with --follow also what follows, until it ends.',
    input: object({
      id,
      run: optional(integer('Which run of it (default: the last)', { minimum: 1 })),
      follow: optional(boolean('Go on until the run has ended')),
      from: optional(integer('Begin at this position', { minimum: 0 })),
      last_kb: optional(integer('Only about the last so many KiB', { minimum: 1 })),
    }),
    output: object({
      stream: choice(['stdout', 'stderr', 'lost'], 'lost: a part of the output is not there'),
      data: bytes('What it wrote'),
      lost: optional(integer('How many bytes are not there')),
      at: nullable(string('When (ISO 8601)')),
      next: integer('Where the next item begins'),
    }),
    form: 'stream',
    ends: true,
    positional: ['id'],
    errors: [...absent, 'run_not_found', 'aborted'],
    examples: ['aw logs fix-login', 'aw logs fix-login --follow', 'aw logs fix-login --run 2'],
  }),
  operation({
    name: 'cancel',
    kind: 'write',
    group: 'Runs',
    summary: 'End the run of a workspace; what it did until then is kept',
    input: object({
      id,
      grace_ms: optional(integer('How long it may take to end by itself (default 5000)', { minimum: 0 })),
    }),
    output: run,
    positional: ['id'],
    batch: true,
    states: 'stop',
    errors: [...absent, ...host, 'run_not_found', 'invalid_state', 'timeout'],
    examples: ['aw cancel fix-login'],
  }),
  operation({
    name: 'wait',
    kind: 'write',
    group: 'Runs',
    summary: 'Wait until the run of a workspace has ended; the exit code is that of the run',
    input: object({
      id,
      timeout_ms: optional(integer('Wait no longer than this', { minimum: 0 })),
    }),
    output: run,
    positional: ['id'],
    batch: true,
    errors: [...absent, ...host, 'run_not_found', 'timeout', 'aborted'],
    examples: ['aw wait fix-login', 'aw wait fix-login --timeout-ms 60000'],
  }),
] as const
