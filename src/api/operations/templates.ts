import { isolations } from '../../domain/sandbox/spec.ts'
import { operation } from '../operation.ts'
import {
  boolean,
  bytes,
  choice,
  either,
  integer,
  json,
  list,
  milliseconds,
  nullable,
  object,
  optional,
  pairs,
  string,
} from '../schema.ts'
import { exitView } from '../views.ts'
import { creationErrors, hostErrors, sandboxFields, sourceFields } from './shared-fields.ts'

const setupView = object(
  {
    commands: list(string('A command'), 'What is run, in this order'),
    inputs: list(string('A pattern'), 'The files that it depends on; none: the whole source'),
    files: json('Those files, with their hashes'),
    source_hash: nullable(string('Hash of the whole source before it; null: it could not be told')),
    isolation: choice(isolations, 'Behind which walls it runs'),
    network: string('What it may reach: none, allowlist or host'),
    allow: list(string('A host or a preset'), 'The hosts that it may reach'),
    limits: json('The limits that were asked for'),
    ran_at: string('When it ran (ISO 8601)'),
    duration_ms: integer('How long it took'),
    ran_for: integer('For which version it ran'),
    reused: boolean('It did not run for this version: what it made then was taken over'),
  },
  'What was run in it before it was frozen',
)

const templateView = object(
  {
    name: string('Its name'),
    version: integer('Counted from 1'),
    versions: list(integer('A version'), 'All that are there'),
    description: string('What it is for'),
    profile: string('Its layout'),
    source: json('What it was made from'),
    variables: json('What can be filled in, with its default; null: it must be given'),
    files: list(string('A path'), 'The files in which something is filled in'),
    base: string('The frozen tree'),
    setup: nullable(setupView),
    created_at: string('When this version was made (ISO 8601)'),
  },
  'A template',
)

const { shared: _, agent: __, ...setupWalls } = sandboxFields

const templateInput = {
  name: string('Its name'),
  description: optional(string('What it is for', { maxLength: 500 })),
  variables: optional(
    pairs('What can be filled in where {{NAME}} stands: NAME=DEFAULT, or NAME= for what must be given'),
  ),
  profile: optional(string('Layout: aw, ipa, repo or session (default: the configured profile)')),
  ...sourceFields,
  setup: optional(
    list(
      either(
        string('A line for sh', { maxLength: 8192 }),
        list(string('An argument'), 'A program and its arguments'),
        'A line for sh, or a program and its arguments',
      ),
      'A command that is run in it, in a sandbox, before it is frozen: a line for sh; again for the next one',
    ),
  ),
  setup_input: optional(
    list(
      string('A pattern'),
      'Only what the set-up depends on, as package-lock.json or **/*.lock: it is run again when this changes (default: the whole source)',
    ),
  ),
  ...setupWalls,
  timeout_ms: optional(milliseconds('End a command of the set-up after so long')),
}

const renewing = {
  setup_again: optional(boolean('Run the set-up though nothing that it depends on has changed')),
  without_setup: optional(boolean('From now on without a set-up')),
}

const setupErrors = ['setup_failed', 'sandbox_unenforceable', 'limit_reached', 'aborted'] as const

export const templateOperations = [
  operation({
    name: 'template create',
    kind: 'write',
    group: 'Sources',
    routes: ['POST /templates'],
    scope: 'admin',
    makes: true,
    near: true,
    summary: 'Keep a tree under a name, to make workspaces from',
    details:
      'Where {{NAME}} stands in a text file and NAME is one of the variables, each workspace gets its own value. Commands of a set-up run in a sandbox around the new tree, one after another, without network unless hosts are allowed; what they make is in every workspace that begins as the template. If one fails, nothing is kept but what it wrote: aw template log.',
    input: object(templateInput),
    output: templateView,
    positional: ['name'],
    flags: { var: 'variables' },
    errors: ['template_exists', ...setupErrors, ...creationErrors],
    examples: [
      'aw template create web-app --from ./starter --var title= --var license=MIT',
      'aw template create green --from-workspace fix-login --at tests-pass',
      "aw template create web --from ./web --setup 'npm ci' --setup-input package-lock.json --allow npm",
    ],
  }),
  operation({
    name: 'template update',
    kind: 'write',
    group: 'Sources',
    routes: ['PUT /templates/:name'],
    scope: 'admin',
    near: true,
    summary: 'Make the next version of a template; workspaces of earlier ones stay as they are',
    details:
      'What is not said is as in the last version: without a source, that one is read again. The set-up is run again if its commands, its network, its walls or what it depends on have changed; else what the last one made is taken over.',
    input: object({ ...templateInput, ...renewing }),
    output: templateView,
    positional: ['name'],
    flags: { var: 'variables' },
    errors: ['template_not_found', ...setupErrors, ...creationErrors],
    examples: ['aw template update web-app', 'aw template update web-app --from ./starter --setup-again'],
  }),
  operation({
    name: 'template list',
    kind: 'read',
    group: 'Sources',
    routes: ['GET /templates'],
    scope: 'read',
    summary: 'List templates',
    input: object({}),
    output: list(templateView, 'The newest version of each, by name'),
    positional: [],
    errors: [],
    examples: ['aw template list'],
  }),
  operation({
    name: 'template show',
    kind: 'read',
    group: 'Sources',
    routes: ['GET /templates/:name'],
    scope: 'read',
    summary: 'Show a template',
    input: object({ name: string('NAME, or NAME@VERSION') }),
    output: templateView,
    positional: ['name'],
    errors: ['template_not_found'],
    examples: ['aw template show web-app@1'],
  }),
  operation({
    name: 'template log',
    kind: 'read',
    group: 'Sources',
    routes: ['GET /templates/:name/log'],
    scope: 'admin',
    summary: 'Show what the set-up of a template wrote',
    details:
      'Of NAME, of the last one that was tried, also if it failed; of NAME@VERSION, of the one that version has.',
    input: object({
      name: string('NAME, or NAME@VERSION'),
      last_kb: optional(integer('Of each command about the last so many KiB (default 1024)', { minimum: 1 })),
    }),
    output: object({
      template: string('Its name'),
      version: nullable(integer('For which version it ran; null: none was made')),
      started_at: string('When it began (ISO 8601)'),
      ended_at: nullable(string('When it ended; null: it runs')),
      problem: nullable(object({ code: string('Code'), message: string('What happened') })),
      notes: list(string('A note'), 'What its sandbox did not keep, or kept otherwise'),
      commands: list(
        object({
          command: string('The command'),
          exit: nullable(object(exitView)),
          output: bytes('What it wrote'),
          lost: integer('How many bytes of that are not here'),
        }),
      ),
    }),
    positional: ['name'],
    errors: ['template_not_found', 'run_not_found'],
    examples: ['aw template log web-app', 'aw template log web-app@2'],
  }),
  operation({
    name: 'template remove',
    kind: 'destructive',
    group: 'Sources',
    routes: ['DELETE /templates/:name'],
    scope: 'admin',
    summary: 'Remove a template, or one version of it; workspaces made from it stay',
    input: object({ name: string('NAME, or NAME@VERSION') }),
    output: object({ removed: list(integer('A version'), 'The versions that are gone') }),
    positional: ['name'],
    errors: ['template_not_found', ...hostErrors],
    examples: ['aw template remove web-app@1'],
  }),
] as const
