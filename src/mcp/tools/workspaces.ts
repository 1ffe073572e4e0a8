import { list, nullable, object, string, type JsonSchema } from '../../api/schema.ts'
import type { Inputs, Outputs } from '../../api/table.ts'
import { forkView, workspaceView } from '../../api/views.ts'
import { limits } from '../limits.ts'
import { pickFields, pickValues } from '../schema.ts'
import { entry, nextCursor, paging, type Paged } from '../tool.ts'

type View = Outputs['show']

/** What an agent is told of a workspace. */
const shown = [
  'workspace_id',
  'id',
  'state',
  'path',
  'source',
  'labels',
  'head',
  'branch',
  'snapshots',
  'commands',
  'created_at',
  'expires_at',
  'problem',
] as const satisfies readonly (keyof View)[]

const workspace: JsonSchema = pickFields(workspaceView, shown)
const summaryOf = (view: View): Pick<View, (typeof shown)[number]> => pickValues(view, shown)
const line = ({ workspace_id: name, state, id, path }: View): string =>
  [name, state, id, ...(path === null ? [] : [path])].join('  ')

/** A folder is said by itself: agents fill in flat fields more reliably. */
export const folder = {
  folder: string(
    'Start as a copy of this folder of the machine, by its absolute path; the folder itself is not touched',
  ),
}

export interface WithFolder {
  readonly folder?: string
}

export function withFolder<I extends WithFolder>({ folder: from, ...input }: I): Omit<I, 'folder'> & Inputs['create'] {
  return from === undefined ? input : { ...input, from: { folder: from } }
}

export const workspaceTools = [
  entry<'create', WithFolder>({
    name: 'create_workspace',
    title: 'Create a workspace',
    of: 'create',
    description:
      'Make a workspace: a directory of its own for one piece of work, empty or begun as a git repository, a copy of a ' +
      'folder, a template or another workspace. Answers with its name (give it as id to the other tools) and its path. ' +
      'Files of a workspace are below work/ unless its profile is repo.',
    fields: ['id', 'repo', 'ref', 'from_workspace', 'at', 'template', 'variables', 'profile', 'labels', 'ttl'],
    add: folder,
    output: workspace,
    hints: { openWorldHint: true },
    where: 'home',
    async run(manager, input, { call }) {
      const made = await manager.call('create', withFolder(input), call)
      return {
        structured: summaryOf(made),
        text: `Made ${made.workspace_id} (${made.id})${made.path === null ? '' : ` at ${made.path}`}`,
      }
    },
  }),
  entry<'list', Paged>({
    name: 'list_workspaces',
    title: 'List workspaces',
    of: 'list',
    description: 'List workspaces, oldest first: those that are live, or those in the trash. In pages.',
    fields: ['task', 'agent', 'state', 'trashed', 'labels', 'older_than', 'newer_than'],
    add: paging,
    output: object({ workspaces: list(workspace as typeof workspaceView), next_cursor: nextCursor }),
    where: 'home',
    async run(manager, { cursor, limit = limits.items, ...input }, { call }) {
      const after = cursor === undefined ? {} : { after: cursor }
      const found = await manager.call('list', { ...input, ...after, limit: limit + 1 }, call)
      const page = found.slice(0, limit)
      const next = found.length > limit ? (page.at(-1)?.id ?? null) : null
      const more = next === null ? [] : [`There are more; next_cursor is ${next}`]
      return {
        structured: { workspaces: page.map(summaryOf), next_cursor: next },
        text: page.length === 0 ? 'There are none' : [...page.map(line), ...more].join('\n'),
      }
    },
  }),
  entry<'fork'>({
    name: 'fork_workspace',
    title: 'Fork a workspace',
    of: 'fork',
    description:
      'Make new workspaces that begin as another one is now, or as one of its snapshots. Cheap: try several ideas side ' +
      'by side, compare them with diff, destroy those that did not work. The original is not changed.',
    fields: ['id', 'to', 'count', 'at', 'labels', 'ttl'],
    output: pickFields(forkView, ['source', 'snapshot'], {
      add: {
        forks: list(
          object({
            name: string('The name of the new workspace'),
            ok: { type: 'boolean', description: 'Whether it was made' },
            workspace: nullable(workspace),
            error: nullable(
              object({ code: string('Code'), message: string('What happened'), hint: nullable(string('')) }),
            ),
          }),
        ),
      },
      required: ['forks'],
    }),
    where: 'home',
    async run(manager, input, { call }) {
      const { source, snapshot, forks } = await manager.call('fork', input, call)
      return {
        structured: {
          source,
          snapshot,
          forks: forks.map((fork) => ({
            ...fork,
            workspace: fork.workspace === null ? null : summaryOf(fork.workspace),
          })),
        },
        text: forks
          .map(({ name, workspace: made, error }) => (made === null ? `${name}: ${error?.message}` : line(made)))
          .join('\n'),
      }
    },
  }),
  entry<'destroy'>({
    name: 'destroy_workspace',
    title: 'Destroy a workspace',
    of: 'destroy',
    description:
      'Move a workspace to the trash with everything in it, when its work is done or not wanted. Its owner can bring it ' +
      'back with aw undelete until the trash is emptied. Refused while something still runs in it.',
    fields: ['id', 'if_exists', 'reason'],
    output: pickFields({ properties: {} }, [], {
      add: {
        removed: { type: 'boolean', description: 'Whether there was something to remove' },
        workspace,
      },
      required: ['removed'],
    }),
    hints: { idempotentHint: true },
    where: 'home',
    async run(manager, input, { call }) {
      const { removed, workspace: gone } = await manager.call('destroy', input, call)
      return {
        structured: { removed, ...(gone !== undefined && { workspace: summaryOf(gone) }) },
        text: removed
          ? `${input.id} is in the trash; aw undelete ${gone?.id ?? input.id} brings it back`
          : 'There was nothing to remove',
      }
    },
  }),
] as const
