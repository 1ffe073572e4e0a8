import { scopes } from '../../domain/tokens/scopes.ts'
import { operation } from '../operation.ts'
import { choice, integer, list, nullable, object, optional, string } from '../schema.ts'

const tokenFields = {
  id: string('tok_…'),
  label: nullable(string('What it is called')),
  scopes: list(choice(scopes, 'A scope'), 'What it allows'),
  workspaces: nullable(list(string('An id, or a pattern of names'), 'The workspaces it is for; null: all of them')),
  state: choice(['active', 'expired', 'revoked'], 'Whether it is valid'),
  created_at: string('When it was made (ISO 8601)'),
  created_by: string('Who made it'),
  expires_at: nullable(string('Until when it is valid (ISO 8601); null: until it is revoked')),
  replaces: nullable(string('The token whose place it took')),
  sandbox: optional(string('It is for what runs in this sandbox, box_…, and is over with it')),
  revoked: nullable(
    object({
      reason: choice(['user', 'rotated', 'workspace_destroyed', 'sandbox_ended'], 'Why it was revoked'),
      from: string('Since when, or from when on (ISO 8601)'),
    }),
  ),
}

const tokenView = object(tokenFields, 'A token, without its secret')

const createdToken = object(
  { ...tokenFields, token: string('The secret. It is told this once, and kept nowhere') },
  'A token, with its secret',
)

const id = string('The token, tok_…')
const expires = optional(
  string('How long it is valid: 12h, 7d (default: until it is revoked)', { 'x-cli': 'duration' }),
)

export const tokenOperations = [
  operation({
    name: 'token create',
    kind: 'write',
    group: 'Care',
    routes: ['POST /tokens'],
    scope: 'admin',
    makes: true,
    secret: true,
    summary: 'Make a token, with which a program or an agent may use this home through aw serve',
    details:
      'The secret is shown once. A token that is held to workspaces is for what is done in them: without --scope it may read, write files, run commands and take snapshots there, and it cannot be given the scopes admin and approve. It sees no other workspace. One that names a workspace by its id or name is revoked when that is destroyed.',
    input: object({
      scopes: optional(list(choice(scopes, 'A scope'), 'What it allows; may be repeated')),
      workspaces: optional(
        list(
          string('ID, TASK/AGENT, or a pattern of names as fix-*/*', { maxLength: 201 }),
          'A workspace that it is for: its id or name, or a pattern as fix-*/*; may be repeated (default: all)',
        ),
      ),
      label: optional(string('What it is called', { maxLength: 200 })),
      expires,
    }),
    output: createdToken,
    positional: [],
    flags: { scope: 'scopes', workspace: 'workspaces' },
    errors: ['invalid_input', 'invalid_name', 'workspace_not_found', 'log_busy'],
    examples: [
      'aw token create --workspace fix-login --expires 12h',
      "aw token create --scope read --scope fs:read --workspace 'docs-*/*' --label viewer --json",
      'aw token create --scope admin --label ci',
    ],
  }),
  operation({
    name: 'token list',
    kind: 'read',
    group: 'Care',
    routes: ['GET /tokens'],
    scope: 'admin',
    summary: 'List tokens',
    input: object({
      state: optional(choice(['active', 'expired', 'revoked'], 'Only those in this state')),
      limit: optional(integer('At most so many', { minimum: 1, maximum: 10_000 })),
      after: optional(string('Go on after this id (the last of the page before)')),
    }),
    output: list(tokenView, 'Tokens, oldest first'),
    positional: [],
    errors: ['token_not_found', 'log_busy'],
    examples: ['aw token list', 'aw token list --state active'],
  }),
  operation({
    name: 'token revoke',
    kind: 'destructive',
    group: 'Care',
    routes: ['DELETE /tokens/:id'],
    scope: 'admin',
    summary: 'Make a token invalid, at once and for good',
    input: object({ id }),
    output: tokenView,
    positional: ['id'],
    errors: ['token_not_found', 'log_busy'],
    examples: ['aw token revoke tok_…'],
  }),
  operation({
    name: 'token rotate',
    kind: 'write',
    group: 'Care',
    routes: ['POST /tokens/:id/rotate'],
    scope: 'admin',
    makes: true,
    secret: true,
    summary: 'Put a new token with a new secret in the place of one',
    details:
      'It allows the same, in the same workspaces, until the same time. The old one is invalid at once, or later.',
    input: object({
      id,
      grace: optional(
        string('How long the old one stays valid: 10m, 1h (default: not at all)', { 'x-cli': 'duration' }),
      ),
      expires,
    }),
    output: createdToken,
    positional: ['id'],
    errors: ['token_not_found', 'invalid_input', 'log_busy'],
    examples: ['aw token rotate tok_…', 'aw token rotate tok_… --grace 10m'],
  }),
] as const
