import { operation } from '../operation.ts'
import { boolean, integer, json, list, nullable, object, optional, pairs, string } from '../schema.ts'
import { workspaceView } from '../views.ts'
import { exportOperation } from './export.ts'
import { creationErrors, hostErrors, workspaceErrors } from './shared-fields.ts'
import { templateOperations } from './templates.ts'

const baseView = object(
  {
    name: string('Its name'),
    source: json('What it is a state of'),
    profile: string('Its layout'),
    created_at: string('When it was made (ISO 8601)'),
    used_by: list(string('A workspace'), 'Workspaces that began as it'),
    bytes: nullable(integer('Its size; null if it could not be measured')),
  },
  'A frozen tree of a source, that workspaces begin as',
)

const sharedFields = {
  name: string('Its name'),
  task: nullable(string('The task it is for; null: for all')),
  path: string('The directory'),
  created_at: string('When it was made (ISO 8601)'),
}

const sharedView = object(sharedFields, 'A directory that workspaces share')

const listedShared = object(
  {
    ...sharedFields,
    path: nullable(string('The directory; null: it is in the trash')),
    bytes: optional(nullable(integer('Bytes in it; null if not measured'))),
    trash: optional(string('Its name in the trash')),
    removed_at: optional(string('When it was removed (ISO 8601)')),
  },
  'A directory that workspaces share, or did',
)

export const sourceOperations = [
  exportOperation,
  operation({
    name: 'import',
    kind: 'write',
    group: 'Sources',
    routes: ['POST /import'],
    scope: 'admin',
    names: { id: 'new' },
    makes: true,
    near: true,
    summary: 'Make a workspace from a file that aw export wrote, or from a tar file',
    input: object({
      file: string('The file', { 'x-cli': 'file' }),
      id: optional(string('Name of the new workspace (default: the name it had)')),
      labels: optional(pairs('Labels to find it by')),
      trust: optional(
        boolean(
          'Keep owners, set-user-id bits, devices and capabilities, with no limit but the free space: only for files of your own',
        ),
      ),
    }),
    output: workspaceView,
    positional: ['file', 'id'],
    flags: { label: 'labels' },
    errors: ['workspace_exists', 'limit_reached', 'file_not_found', ...creationErrors],
    examples: ['aw import fix-login.aw.tar.zst', 'aw import state.aw.tar.zst fix-login-again'],
  }),
  operation({
    name: 'cp',
    kind: 'write',
    group: 'Files',
    routes: ['POST /cp'],
    scope: 'admin',
    near: true,
    summary: 'Copy files between this machine and a workspace',
    details:
      'One of the two is WORKSPACE:PATH. A directory is copied with all that is in it. Links are copied as links, also one that is named itself, unless a slash is behind it; it keeps the name that it is asked for by. What is copied out of a workspace has no setuid or setgid bits. From WORKSPACE@SNAPSHOT:PATH it is copied as it was then. What is at the target already is replaced only if that is asked for, and a directory never.',
    input: object({
      from: string('WORKSPACE:PATH, WORKSPACE@SNAPSHOT:PATH, or a path of this machine', { 'x-cli': 'place' }),
      to: string('WORKSPACE:PATH, or a path of this machine', { 'x-cli': 'place' }),
      replace: optional(boolean('Replace a file that is there')),
    }),
    output: object({
      files: integer('Files copied'),
      bytes: integer('Bytes copied'),
      skipped: list(
        object({ path: string('What'), reason: string('Why') }),
        'Pipes, sockets, devices, what could not be read, and a .git that leads to a repository elsewhere',
      ),
    }),
    positional: ['from', 'to'],
    errors: [
      ...workspaceErrors,
      'file_not_found',
      'file_exists',
      'not_a_file',
      'not_a_directory',
      'snapshot_not_found',
      'invalid_path',
      'path_traversal_attempt',
      'path_outside_workspace',
      'symlink_outside_workspace',
      'cannot_resolve_symlinks',
      'path_protected',
      'invalid_input',
      'source_failed',
      'quota_exceeded',
      'file_too_large',
      ...hostErrors,
    ],
    examples: [
      'aw cp ./data.csv fix-login:work/',
      'aw cp fix-login:output/report ./report',
      'aw cp fix-login@tests-pass:work/config.json ./config.json --replace',
    ],
  }),
  operation({
    name: 'bases list',
    kind: 'read',
    group: 'Sources',
    routes: ['GET /bases'],
    scope: 'admin',
    summary: 'List the frozen trees that workspaces begin as',
    input: object({ sizes: optional(boolean('Measure them')) }),
    output: list(baseView, 'Bases, oldest first'),
    positional: [],
    errors: [],
    examples: ['aw bases list --sizes'],
  }),
  operation({
    name: 'bases remove',
    kind: 'destructive',
    group: 'Sources',
    routes: ['DELETE /bases/:name'],
    scope: 'admin',
    summary: 'Erase a base; the next workspace from that source makes it again',
    input: object({
      name: string('Its name, or the beginning of it'),
      force: optional(boolean('Even if workspaces began as it: they stay, but cannot be compared with it any more')),
    }),
    output: object({ removed: string('Its name') }),
    positional: ['name'],
    errors: ['base_not_found', 'base_in_use', ...hostErrors],
    examples: ['aw bases remove git-4f1c0e9d'],
  }),
  ...templateOperations,
  operation({
    name: 'shared create',
    kind: 'write',
    group: 'Sources',
    routes: ['POST /shared'],
    scope: 'admin',
    makes: true,
    summary: 'Make a directory that workspaces share; it is in no snapshot and outlives them',
    details: 'It is used by its path, which is printed.',
    input: object({
      name: string('Its name'),
      task: optional(string('Only for the workspaces of this task')),
    }),
    output: sharedView,
    positional: ['name'],
    errors: ['shared_exists', 'invalid_name', ...hostErrors],
    examples: ['aw shared create models', 'aw shared create fixtures --task fix-login'],
  }),
  operation({
    name: 'shared list',
    kind: 'read',
    group: 'Sources',
    routes: ['GET /shared'],
    scope: 'admin',
    summary: 'List shared directories',
    input: object({
      sizes: optional(boolean('Measure them')),
      trashed: optional(boolean('Those in the trash instead')),
    }),
    output: list(listedShared, 'Shared directories, oldest first'),
    positional: [],
    errors: [],
    examples: ['aw shared list --sizes', 'aw shared list --trashed'],
  }),
  operation({
    name: 'shared remove',
    kind: 'destructive',
    group: 'Sources',
    routes: ['DELETE /shared/:name'],
    scope: 'admin',
    summary: 'Move a shared directory to the trash',
    input: object({ name: string('Its name'), purge: optional(boolean('Erase it now')) }),
    output: object({ removed: boolean('Whether it was there'), trash: nullable(string('Its name in the trash')) }),
    positional: ['name'],
    errors: ['shared_not_found', 'workspace_active', ...hostErrors],
    examples: ['aw shared remove models'],
  }),
  operation({
    name: 'shared undelete',
    kind: 'write',
    group: 'Sources',
    routes: ['POST /shared/:trash/undelete'],
    scope: 'admin',
    summary: 'Bring a shared directory back from the trash',
    input: object({
      trash: string('Its name in the trash, or the name it had: then the one that was removed last'),
      as: optional(string('Another name for it')),
    }),
    output: sharedView,
    positional: ['trash'],
    errors: ['shared_not_found', 'shared_exists', 'invalid_name', ...hostErrors],
    examples: ['aw shared undelete models', 'aw shared undelete models --as models-2'],
  }),
] as const
