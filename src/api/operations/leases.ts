import { operation } from '../operation.ts'
import { boolean, integer, nullable, object, optional, string } from '../schema.ts'
import { leaseFields, leaseView } from '../views.ts'
import { id, workspaceErrors } from './shared-fields.ts'

const ttl = { minimum: 1000, maximum: 30 * 24 * 60 * 60 * 1000 }

const taking = {
  id,
  holder: string('Who you are', { maxLength: 200 }),
  ttl_ms: optional(integer('How long it lasts unless renewed (default 60000, at most 30 days)', ttl)),
}

export const leaseOperations = [
  operation({
    name: 'lease acquire',
    kind: 'write',
    group: 'Workspaces',
    routes: ['POST /workspaces/:id/lease'],
    scope: 'workspace',
    names: { id: 'workspace' },
    makes: true,
    summary: 'Say that you use a workspace, so that nobody removes it',
    input: object(taking),
    output: leaseView,
    positional: ['id'],
    states: 'lease',
    errors: [...workspaceErrors, 'invalid_state', 'workspace_active'],
    examples: ['aw lease acquire fix-login --holder ci-42'],
  }),
  operation({
    name: 'lease renew',
    kind: 'write',
    group: 'Workspaces',
    routes: ['PUT /workspaces/:id/lease'],
    scope: 'workspace',
    names: { id: 'workspace' },
    summary: 'Keep a lease',
    input: object({
      id,
      lease: string('The lease, ls_…'),
      ttl_ms: optional(integer('How long it lasts from now (default 60000, at most 30 days)', ttl)),
    }),
    output: leaseView,
    positional: ['id', 'lease'],
    errors: [...workspaceErrors, 'lease_not_found'],
    examples: ['aw lease renew fix-login ls_…'],
  }),
  operation({
    name: 'lease release',
    kind: 'write',
    group: 'Workspaces',
    routes: ['DELETE /workspaces/:id/lease'],
    scope: 'workspace',
    names: { id: 'workspace' },
    summary: 'Give a lease back',
    input: object({ id, lease: string('The lease, ls_…') }),
    output: object({ released: boolean('Whether it was still held') }),
    positional: ['id', 'lease'],
    errors: [...workspaceErrors],
    examples: ['aw lease release fix-login ls_…'],
  }),
  operation({
    name: 'adopt',
    kind: 'write',
    group: 'Workspaces',
    routes: ['POST /workspaces/:id/adopt'],
    scope: 'workspace',
    names: { id: 'workspace' },
    summary: 'Take a workspace over from whoever had it',
    details:
      'A lease that is free or has expired is taken as by aw lease acquire. One that somebody holds is taken only with --force, and only if its holder has not taken, renewed or used it for a while (leases.force_after_seconds). Then the old lease is void: whoever still writes under it is refused with lease_lost.',
    input: object({
      ...taking,
      force: optional(boolean('Also from a holder who has not been heard of for a while')),
    }),
    output: object(
      { ...leaseFields, adopted_from: nullable(string('Who had it until now; null if it was free')) },
      'A lease',
    ),
    positional: ['id'],
    states: 'lease',
    errors: [...workspaceErrors, 'invalid_state', 'workspace_active'],
    examples: ['aw adopt fix-login --holder ann', 'aw adopt fix-login --holder ann --force'],
  }),
] as const
