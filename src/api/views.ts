import { workspaceStates } from '../domain/workspace/state.ts'
import {
  anything,
  boolean,
  choice,
  hostPath,
  integer,
  json,
  list,
  nullable,
  object,
  optional,
  pairs,
  string,
} from './schema.ts'

/** How far a workspace may grow, and who sees to it. */
export const sizeLimitView = object(
  {
    mb: integer('What it may hold beyond what it began as, in MB; 0 for no limit'),
    grade: choice(
      ['kernel', 'watched', 'none'],
      'kernel: nobody can write more; watched: aw refuses more when it sees it; none: nobody looks',
    ),
  },
  'Its size limit',
)

/** How a command ended. */
export const exitView = {
  code: optional(nullable(integer('Its exit code; null if a signal ended it'))),
  signal: optional(nullable(string('The signal that ended it'))),
  duration_ms: optional(integer('How long it ran')),
  peak_memory_bytes: optional(integer('Memory of its largest process')),
  cpu_ms: optional(integer('Processor time')),
  timed_out: optional(boolean('It was ended because its time was over')),
  output_cut: optional(boolean('A part of its output was thrown away')),
  over_limit: optional(boolean('It was stopped because its workspace passed its size limit')),
}

/** How a sandbox holds what was asked for. */
export const wallsView = {
  grades: optional(pairs('By whom each limit is kept: cgroup, rlimit, supervisor or none')),
  notes: optional(list(string('A note'), 'What nobody keeps here, or keeps otherwise than was asked for')),
}

/** What the doors show of a workspace. */
export const workspaceView = object(
  {
    workspace_id: string('The name, TASK/AGENT'),
    id: string('The id, ws_…, which never changes'),
    task: string('First part of the name'),
    agent: string('Second part of the name'),
    state: choice(workspaceStates, 'Where it is in its life'),
    path: hostPath('The directory; null: only its sandbox sees it, see aw exec, aw shell and aw cp'),
    profile: string('Which layout it has'),
    source: json('What it was made from'),
    config: json('Its configuration'),
    labels: pairs('Its labels'),
    driver: string('Which storage driver holds its tree'),
    generation: integer('How often its tree was replaced, plus one'),
    created_at: string('When it was made (ISO 8601)'),
    updated_at: string('When its history last grew (ISO 8601)'),
    operation: nullable(
      object({
        id: string('op_…'),
        kind: string('What is being done'),
        started_at: string('Since when'),
        epoch: integer('How many owners it has had'),
      }),
    ),
    problem: nullable(object({ code: string('Code'), message: string('What happened') })),
    trash: list(
      object({
        tree: string('Its name in the trash'),
        generation: integer('Of which generation'),
        reason: string('Why it is there'),
        at: string('Since when'),
      }),
      'Trees of this workspace in the trash',
    ),
    sandbox: nullable(
      object({
        id: string('box_…'),
        isolation: string('Behind which walls'),
        network: string('What it may reach'),
        allow: list(string('A host or preset'), 'Through the proxy'),
        agent: nullable(string('The agent that is to work in it')),
        mcp: optional(boolean('It reaches the MCP tools of this workspace')),
        mount: string('Where the workspace is inside'),
        memory_mb: optional(integer('Memory of all of it; 0 for no limit')),
        started_at: string('Since when (ISO 8601)'),
        ...wallsView,
      }),
    ),
    commands: integer('How many commands run in it'),
    head: nullable(string('The snapshot that its tree was last equal to')),
    branch: string('The line of snapshots that work goes on with'),
    branches: json('The last snapshot of each branch'),
    base: nullable(string('What it began as: the snapshot of a fork, or the frozen tree of its source')),
    snapshots: integer('How many snapshots it has'),
    expires_at: nullable(string('When aw gc may move it to the trash (ISO 8601); null: never by itself')),
    archives: list(
      object({
        tree: string('The tree that is in it'),
        path: string('The file'),
        digest: string('SHA-256 of it'),
        bytes: integer('Its size'),
        at: string('When it was made'),
      }),
      'Files that were made of it before it was erased',
    ),
    forked_from: optional(
      nullable(
        object({
          id: string('ws_…'),
          name: string('Its name then'),
          snapshot: string('The snapshot'),
          at: string('When'),
        }),
      ),
    ),
    forks: optional(
      list(object({ id: string('ws_…'), name: string('Its name'), snapshot: string('The snapshot') }), 'Its forks'),
    ),
    stopped: optional(boolean('Of aw stop: whether there was anything to end')),
    lease: optional(
      nullable(
        object({
          holder: string('Who uses it'),
          acquired_at: string('Since when'),
          expires_at: string('Until when, unless renewed'),
          active_at: string('When that one was last heard of'),
        }),
      ),
    ),
    imported: nullable(json('What was copied from the source, and what was left out')),
    size_limit: optional(sizeLimitView),
    size_bytes: optional(nullable(integer('Bytes of its tree; null if not measured'))),
    size_complete: optional(boolean('False if measuring stopped at a limit: the tree is at least that large')),
  },
  'A workspace',
)

export const fileView = object(
  {
    path: string('Path below the workspace'),
    kind: choice(['file', 'directory', 'symlink', 'fifo', 'socket', 'block', 'char'], 'What it is'),
    size: integer('Bytes'),
    mode: integer('Permission bits'),
    mtime: string('Last change (ISO 8601)'),
    links: integer('Hard links'),
    uid: integer('Owner'),
    gid: integer('Group'),
    target: optional(string('What a link says')),
    escapes: optional(boolean('Of a link: whether it leads out of the workspace')),
    rebased: optional(boolean('The absolute path was taken as relative to the workspace')),
  },
  'A file, directory or link',
)

export const eventView = object(
  {
    id: string('ev_…'),
    stream: string('The workspace, or home'),
    version: integer('Number in its stream'),
    position: integer('Place in the log; opaque, later is greater'),
    at: string('When (ISO 8601)'),
    type: string('What happened'),
    schema: integer('Version of the payload'),
    data: json('The payload'),
    meta: json('actor, correlation_id, causation_id, operation'),
    hash: string('Of this record and all before it in its stream'),
  },
  'A fact in the log',
)

export const leaseFields = {
  id: string('ls_…'),
  workspace: string('The workspace it is on'),
  holder: string('Who has it'),
  acquired_at: string('Since when'),
  expires_at: string('Until when, unless renewed'),
}

export const leaseView = object(leaseFields, 'A lease')

export const checkpointView = object({
  number: integer('Counted from 1'),
  at: string('When it was sealed'),
  position: integer('The last record it covers'),
  events: integer('How many records it covers'),
  hash: string('Keep it elsewhere: it vouches for everything before it'),
})

export const problemView = object({
  kind: string('What is wrong'),
  stream: nullable(string('Where')),
  version: nullable(integer('At which record')),
  message: string('In words'),
})

export const findingView = object(
  {
    name: string('What was looked at'),
    status: choice(['ok', 'warning', 'problem', 'info'], 'How it is'),
    message: string('What was found'),
    hint: nullable(string('What would make it better')),
  },
  'A finding of doctor',
)

export const settingView = object({
  key: string('The key, as in aw.toml'),
  value: anything('The value in force'),
  from: string('default, the file, an environment variable or a flag'),
  about: string('What it does'),
})

const snapshotFields = {
  id: string('snap_…'),
  workspace: string('The workspace, TASK/AGENT'),
  parent: nullable(string('The snapshot it grew from')),
  branch: string('On which branch it was made'),
  label: nullable(string('What it is called')),
  meta: json('What its maker wanted to be known'),
  key: nullable(string("Its maker's own name for it")),
  reason: choice(['user', 'auto', 'safety', 'fork'], 'Why it was made'),
  author: string('Who made it'),
  created_at: string('When (ISO 8601)'),
  mechanism: string('How'),
  consistency: choice(
    ['atomic', 'frozen', 'fuzzy'],
    'atomic: the tree at one instant; frozen: its writers were stopped; fuzzy: it was written to meanwhile',
  ),
  files_changed: nullable(integer('Paths that differ from its parent; null if that was not counted')),
  head: boolean('Whether the workspace stands here'),
  tips: list(string('A branch'), 'Branches that end here'),
  size_bytes: optional(nullable(integer('Bytes of its tree'))),
  own_bytes: optional(nullable(integer('Bytes that erasing it would give back; null if that cannot be told'))),
  base: optional(boolean('Whether the workspace, a fork, began here')),
} as const

export const snapshotView = object(snapshotFields, 'A snapshot')

export const createdSnapshot = object(
  { ...snapshotFields, created: boolean('Whether it is new; false if one with the key was there already') },
  'A snapshot',
)

const changedEntry = object({
  kind: choice(['file', 'directory', 'symlink', 'fifo', 'socket', 'block', 'char'], 'What it is'),
  size: integer('Bytes'),
  mode: integer('Permission bits'),
  target: optional(string('What a link says')),
})

export const changeView = object(
  {
    path: string('The path, below the root of the workspace'),
    change: choice(['added', 'changed', 'removed', 'renamed'], 'What happened to it'),
    from: nullable(string('Where a renamed one was')),
    what: list(
      choice(['content', 'kind', 'mode', 'owner', 'target', 'attributes'], 'A difference'),
      'What differs in one that is on both sides',
    ),
    before: nullable(changedEntry),
    after: nullable(changedEntry),
    binary: optional(boolean('It is not text')),
    text: optional(string('How it differs, as a patch that git apply takes; empty if git sees no difference')),
    lines: optional(object({ added: integer('Lines that came'), removed: integer('Lines that went') })),
    omitted: optional(string('Why the text was left out')),
  },
  'A difference between two trees',
)

export const forkView = object(
  {
    source: string('What was forked'),
    snapshot: string('The snapshot that the forks began as'),
    left_out: optional(list(string('A path'), 'What of the source no snapshot holds, and is in none of them')),
    forks: list(
      object({
        name: string('The name of the new workspace'),
        ok: boolean('Whether it was made'),
        workspace: nullable(workspaceView),
        error: nullable(
          object({ code: string('Code'), message: string('What happened'), hint: nullable(string('What to do')) }),
        ),
      }),
      'Each result by itself',
    ),
  },
  'Forks',
)
