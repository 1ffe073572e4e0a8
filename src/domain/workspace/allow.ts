import { AwError } from '../errors.ts'
import { isRestorable, nameOf, type Workspace, type WorkspaceConfig, type WorkspaceStateName } from './state.ts'

/** The states in which each use case may begin. Everything else is `invalid_state`. */
export const allowedStates = {
  files_read: ['ready', 'running', 'stopped', 'failed'],
  files_write: ['ready', 'running', 'stopped', 'failed'],
  path: ['ready', 'running', 'stopped', 'failed'],
  destroy: ['ready', 'running', 'stopped', 'failed', 'destroying'],
  reset: ['ready', 'running', 'stopped', 'failed'],
  rename: ['ready', 'stopped', 'failed'],
  label: ['ready', 'running', 'stopped', 'failed'],
  ttl: ['ready', 'running', 'stopped', 'failed'],
  limit: ['ready', 'running', 'stopped', 'failed'],
  snapshot: ['ready', 'running', 'stopped', 'failed'],
  restore: ['ready', 'running', 'stopped', 'failed'],
  exec: ['ready', 'running', 'stopped'],
  launch: ['ready', 'stopped'],
  stop: ['ready', 'running', 'stopped', 'failed'],
  env: ['ready', 'running', 'stopped', 'failed'],
  fork: ['ready', 'running', 'stopped', 'failed'],
  lease: ['ready', 'running', 'stopped', 'failed'],
  undelete: ['trashed'],
  purge: ['trashed'],
} as const satisfies Record<string, readonly WorkspaceStateName[]>

export type UseCase = keyof typeof allowedStates

export function assertAllowed(workspace: Workspace, useCase: UseCase): void {
  const states: readonly WorkspaceStateName[] = allowedStates[useCase]
  if (states.includes(workspace.state)) return
  const verb = useCase.replaceAll('_', ' ')
  throw new AwError(
    'invalid_state',
    `${nameOf(workspace)} is ${workspace.state}; ${verb} needs it to be ${states.join(' or ')}`,
    {
      hint: hintFor(workspace, useCase),
      data: { id: workspace.id, state: workspace.state, allowed: states, problem: workspace.problem },
    },
  )
}

/** What the configuration of a workspace may leave out. */
export type AccessKind = 'read' | 'write' | 'execute'

export function assertAccess(workspace: Workspace, doing: AccessKind): void {
  assertAccessConfigured(workspace.config, doing, nameOf(workspace), { id: workspace.id })
}

/** The same for one that is about to be made. */
export function assertAccessConfigured(
  { allowed_operations: allowed }: Pick<WorkspaceConfig, 'allowed_operations'>,
  doing: AccessKind,
  name: string,
  data: Readonly<Record<string, unknown>> = {},
): void {
  if (allowed.includes(doing)) return
  throw new AwError('permission_denied', `${name} was made without the operation ${doing}`, {
    hint: `Its allowed_operations are: ${allowed.join(', ') || 'none'}; they are chosen when a workspace is made`,
    data: { ...data, operation: doing },
  })
}

function hintFor(workspace: Workspace, useCase: UseCase): string {
  const name = nameOf(workspace)
  if (isRestorable(workspace)) return `Make it anew from its last snapshot: aw undelete ${workspace.id}`
  if (workspace.state === 'trashed') return `Bring it back first: aw undelete ${name}`
  if (workspace.state === 'purged') return 'Its bytes are gone; create a new workspace'
  if (workspace.state === 'creating' || workspace.state === 'destroying') {
    return 'Wait for the operation in progress, or run: aw recover'
  }
  if (useCase === 'purge')
    return `Move it to the trash first: aw destroy ${name}; or erase it at once: aw destroy ${name} --purge`
  return `Look at it with: aw show ${name}`
}
