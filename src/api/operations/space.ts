import { operation } from '../operation.ts'
import { boolean, choice, integer, list, nullable, object, optional, string } from '../schema.ts'
import { sizeLimitView, workspaceView } from '../views.ts'
import { id, workspaceErrors } from './shared-fields.ts'

const amount = {
  bytes: nullable(integer('Bytes; null if they were not counted')),
  complete: boolean('False if counting stopped: it is at least that'),
}

const sharing = {
  own_bytes: nullable(
    integer('What erasing it alone would give back; null if that cannot be told, or is not known at once'),
  ),
  shared_bytes: nullable(integer('What others hold too; null if that cannot be told')),
}

const workspaceUsage = object(
  {
    id: string('The workspace'),
    name: string('Its name'),
    state: string('Where it is in its life'),
    ...amount,
    growth_bytes: nullable(integer('What it has beyond what it began as; null if that cannot be told')),
    ...sharing,
    size_limit: sizeLimitView,
    over: boolean('Whether it is over its limit'),
    snapshots: object(
      {
        count: integer('How many'),
        ...amount,
        all: list(object({ id: string('The snapshot'), ...amount, ...sharing }), 'Each of them, oldest first'),
      },
      'Its snapshots: what they take up together, or where that cannot be told, what each alone would give back',
    ),
    trash: object(
      {
        count: integer('How many'),
        ...amount,
        trees: list(object({ tree: string('Its name'), ...amount, ...sharing }), 'Each of them, oldest first'),
      },
      'Trees of it in the trash',
    ),
    total_bytes: integer('All that was counted'),
  },
  'What a workspace takes up',
)

export const spaceOperations = [
  operation({
    name: 'limit',
    kind: 'write',
    group: 'Workspaces',
    routes: ['PUT /workspaces/:id/limit'],
    scope: 'admin',
    names: { id: 'workspace' },
    summary: 'Show or change how much a workspace may hold beyond what it began as',
    details:
      'Where the kernel holds it to its limit, it does so to the new one at once. A larger limit must fit the budgets, as that of a new workspace must. What is there already is never touched, also if the new limit is smaller.',
    input: object({
      id,
      size: optional(string('In MB: 2000; or none: it has no limit. Left out, nothing changes')),
    }),
    output: workspaceView,
    positional: ['id', 'size'],
    states: 'limit',
    errors: [...workspaceErrors, 'invalid_input', 'invalid_state', 'limit_reached', 'workspace_busy'],
    examples: ['aw limit fix-login', 'aw limit fix-login 2000', 'aw limit fix-login none'],
  }),
  operation({
    name: 'usage',
    kind: 'read',
    group: 'Care',
    routes: ['GET /usage'],
    scope: 'admin',
    names: { ids: 'workspace' },
    summary: 'Show what takes up how much space, the largest first',
    details:
      'Sizes are those of files. A tree that shares blocks with others takes up less. Large trees are counted only in ' +
      'part, so that this stays quick: then it says so. --full counts everything.',
    input: object({
      ids: optional(list(string('A workspace: TASK/AGENT, TASK or its id'), 'Only these')),
      full: optional(boolean('Count every file, however long that takes')),
    }),
    output: object({
      workspaces: list(workspaceUsage, 'The largest first'),
      bases: list(
        object({
          name: string('Its name on disk'),
          from: string('What it was made from'),
          ...amount,
          ...sharing,
          workspaces: integer('How many workspaces began as it'),
        }),
        'Frozen trees of sources, which workspaces share',
      ),
      repositories: list(
        object({
          name: string('Its name on disk'),
          url: string('Of which repository'),
          bytes: integer('Bytes'),
          used_at: string('When it was used last'),
        }),
        'What was fetched of repositories',
      ),
      shared: list(
        object({
          name: string('The shared area'),
          task: nullable(string('Of this task; null for all')),
          state: choice(['ready', 'trashed'], 'Whether it is in the trash'),
          ...amount,
        }),
        'Shared areas',
      ),
      totals: object({
        workspaces: object(amount),
        snapshots: object(amount),
        bases: object(amount),
        trash: object(amount),
        repositories: object(amount),
        shared: object(amount),
        all: object(amount, 'All of it: what is shared counts once, as far as that can be told'),
      }),
      storage: object({
        driver: string('The storage driver'),
        free_bytes: integer('Still free'),
        total_bytes: integer('Free and taken'),
        used_percent: integer('How full it is'),
        files: nullable(object({ free: integer('That can still be made'), total: integer('That there can be') })),
      }),
      limits: list(
        object({
          what: choice(['store', 'repository', 'label'], 'What it is on'),
          of: nullable(string('Which repository or label')),
          limit_mb: integer('The limit'),
          reserved_mb: integer('What the workspaces under it may grow to'),
          workspaces: integer('How many those are'),
          unlimited: integer('How many of them have no limit of their own, and count nothing'),
        }),
        'Limits on what workspaces may grow to together',
      ),
      warnings: list(string('What to do something about')),
    }),
    positional: ['ids'],
    errors: [...workspaceErrors, 'storage_unavailable'],
    examples: ['aw usage', 'aw usage fix-login --json', 'aw usage --full'],
  }),
] as const
