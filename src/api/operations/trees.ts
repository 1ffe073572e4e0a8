import { operation } from '../operation.ts'
import { boolean, integer, list, nullable, object, optional, pairs, string } from '../schema.ts'
import { changeView, forkView } from '../views.ts'
import { hostErrors, ttlField, workspaceErrors } from './shared-fields.ts'

const side = 'WORKSPACE (as it is now), WORKSPACE@SNAPSHOT (an id, a label, head or base) or a snapshot id'

/** About trees, whichever workspace they are of. */
export const treeOperations = [
  operation({
    name: 'diff',
    kind: 'read',
    group: 'Snapshots',
    routes: ['GET /diff'],
    scope: 'fs:read',
    names: { from: 'tree', to: 'tree' },
    summary: 'Show what differs between two trees',
    details: `Each side is ${side}. With one workspace: what was done in it since it was made. Times alone are no difference.`,
    input: object({
      from: string(`The one side: ${side}`),
      to: optional(string('The other side')),
      text: optional(boolean('Also how files differ, as a patch that git apply takes')),
      stat: optional(boolean('Also how many lines came and went')),
      paths: optional(list(string('A path'), 'Only these paths and what is below them, such as work/src')),
      limit: optional(integer('At most so many differences', { minimum: 1 })),
      max_bytes: optional(
        integer('Texts of larger files are left out (default 1 MiB)', { minimum: 0, maximum: 64 * 1024 * 1024 }),
      ),
    }),
    output: changeView,
    form: 'stream',
    ends: true,
    positional: ['from', 'to'],
    flags: { path: 'paths', patch: 'text' },
    errors: [
      ...workspaceErrors,
      'invalid_input',
      'invalid_state',
      'snapshot_not_found',
      'file_not_found',
      'export_failed',
      'sandbox_unenforceable',
      'sandbox_gone',
      'workspace_busy',
      'disk_full',
      'storage_unavailable',
    ],
    examples: ['aw diff fix-login --stat', 'aw diff fix-login@head --text', 'aw diff fix-login/claude fix-login/codex'],
  }),
  operation({
    name: 'fork',
    kind: 'write',
    group: 'Snapshots',
    routes: ['POST /workspaces/:id/fork'],
    scope: 'workspace',
    names: { id: 'workspace', to: 'new' },
    makes: 'forks',
    summary: 'Make new workspaces that begin as another one is now',
    details:
      'The forks share what they have in common with their origin and never see its writes, nor it theirs. Without a name they are called after the source: TASK/AGENT-1, -2 and so on.',
    input: object({
      id: string('The workspace to fork: TASK/AGENT, TASK or its id ws_…'),
      to: optional(list(string('A name'), 'Names of the new workspaces')),
      count: optional(integer('Make so many, numbered', { minimum: 1, maximum: 1000 })),
      at: optional(string('Begin as this snapshot of it instead of as it is now')),
      labels: optional(pairs('Labels of the new workspaces; those of the source if not given')),
      ttl: ttlField,
      consistent: optional(boolean('Refuse rather than fork a tree that is written to meanwhile')),
    }),
    output: forkView,
    positional: ['id', 'to'],
    flags: { label: 'labels' },
    states: 'fork',
    errors: [
      ...workspaceErrors,
      'workspace_exists',
      'invalid_input',
      'invalid_state',
      'snapshot_not_found',
      'quota_exceeded',
      'workspace_active',
      'limit_reached',
      ...hostErrors,
    ],
    examples: ['aw fork fix-login try/one try/two', 'aw fork fix-login --count 5 --at "tests pass"'],
  }),
  operation({
    name: 'verify',
    kind: 'read',
    group: 'Snapshots',
    routes: ['GET /verify'],
    scope: 'admin',
    summary: 'Check that snapshots are still what they were when they were made',
    input: object({ id: optional(string('Only those of this workspace, or only this snapshot (default: all)')) }),
    output: object({
      intact: nullable(boolean('Whether all of them are; null if there is nothing to compare any of them with')),
      snapshots: list(
        object({
          snapshot: string('The snapshot'),
          workspace: string('Whose it is'),
          method: string('hashes, checksums of the file system, or none: there is nothing to compare with'),
          files: integer('Files that were read'),
          bytes: integer('Bytes that were read'),
          problems: list(object({ path: string('Where'), message: string('What is wrong') })),
        }),
      ),
    }),
    positional: ['id'],
    errors: [...workspaceErrors, 'snapshot_not_found', 'storage_unavailable'],
    examples: ['aw verify fix-login'],
  }),
] as const
