import type { AnyEvent } from '../event.ts'
import type { OperationId, WorkspaceId } from '../ids.ts'
import type { WorkspaceEventData, WorkspaceEventType } from './events.ts'
import type { Operation, OperationKind, Owner, TrashedTree, Workspace, WorkspaceStateName } from './state.ts'

/**
 * The state after an event. Pure and total: an event that says nothing about the workspace leaves it as it is. The read
 * model is this fold, kept up to date inside each append, and `aw doctor --rebuild` makes it anew.
 */
export function evolve(before: Workspace | undefined, event: AnyEvent): Workspace | undefined {
  if (event.type === 'workspace_create_started') return begun(event)
  if (before === undefined) return undefined
  const after = apply(before, event)
  return { ...after, updated_at: event.at, version: event.version }
}

type Of<T extends WorkspaceEventType> = Extract<AnyEvent, { type: T }>

function begun(event: Of<'workspace_create_started'>): Workspace {
  const { data } = event
  return {
    id: event.stream as WorkspaceId,
    task: data.task_id,
    agent: data.agent_id,
    state: 'creating',
    profile: data.profile,
    source: data.source,
    config: data.config,
    labels: data.labels,
    imported: null,
    path: data.workspace_path,
    driver: data.driver,
    generation: 1,
    created_at: event.at,
    updated_at: event.at,
    operation: operationOf(event, null),
    trash: [],
    problem: null,
    version: event.version,
  }
}

function apply(before: Workspace, event: AnyEvent): Workspace {
  const done = { operation: null, problem: null }
  switch (event.type) {
    case 'workspace_created': {
      const { workspace_path: path, created_at, imported } = event.data
      return { ...before, ...done, state: 'ready', path, created_at, imported }
    }
    case 'workspace_destroy_started':
      return { ...before, state: 'destroying', problem: null, operation: operationOf(event, before.state) }
    case 'workspace_cleanup':
      return cleanedUp(before, event)
    case 'workspace_undelete_started': {
      const { task_id: task, agent_id: agent, workspace_path: path } = event.data
      return {
        ...before,
        task,
        agent,
        path,
        state: 'creating',
        operation: operationOf(event, 'trashed', { was: nameAndPath(before) }),
      }
    }
    case 'workspace_undeleted':
      return {
        ...before,
        operation: null,
        problem: event.data.problem ?? null,
        state: 'ready',
        trash: without(before.trash, [event.data.tree]),
      }
    case 'workspace_purge_started':
      return { ...before, operation: operationOf(event, before.state) }
    case 'workspace_purged':
      return purged(before, event.data)
    case 'workspace_reset_started':
      return { ...before, operation: operationOf(event, before.state) }
    case 'workspace_reset': {
      const { generation, tree } = event.data
      const old: TrashedTree = { tree, generation: before.generation, reason: 'reset', at: event.at }
      return { ...before, ...done, state: 'ready', generation, trash: [...before.trash, old] }
    }
    case 'workspace_rename_started': {
      const { to_task_id: task, to_agent_id: agent, to_path: path } = event.data
      return { ...before, task, agent, path, operation: operationOf(event, before.state, { was: nameAndPath(before) }) }
    }
    case 'workspace_renamed':
      return { ...before, operation: null, problem: event.data.problem ?? null, path: event.data.workspace_path }
    case 'workspace_labelled':
      return { ...before, labels: event.data.labels }
    case 'operation_taken':
      return before.operation === null
        ? before
        : { ...before, operation: { ...before.operation, epoch: event.data.epoch, owner: event.data.owner } }
    case 'operation_abandoned':
      return abandoned(before, event.data)
    case 'workspace_lost': {
      // The other trees that went to the trash before are still there.
      const trash = without(before.trash, [String(before.operation?.intent['tree'])])
      const problem = { code: 'lost', message: event.data.reason }
      return { ...before, state: trash.length === 0 ? 'purged' : 'trashed', operation: null, trash, problem }
    }
    case 'trash_lost': {
      const trash = without(before.trash, event.data.trees)
      return { ...before, state: before.state === 'trashed' && trash.length === 0 ? 'purged' : before.state, trash }
    }
    case 'workspace_found': {
      const entry: TrashedTree = { tree: event.data.tree, generation: before.generation, reason: 'found', at: event.at }
      return { ...before, state: 'trashed', problem: null, trash: [...before.trash, entry] }
    }
    default:
      return before
  }
}

function cleanedUp(before: Workspace, event: Of<'workspace_cleanup'>): Workspace {
  const { tree, cleanup_reason: reason } = event.data
  const entry: TrashedTree[] = tree === null ? [] : [{ tree, generation: before.generation, reason, at: event.at }]
  const trash = [...before.trash, ...entry]
  return { ...before, operation: null, problem: null, state: trash.length === 0 ? 'purged' : 'trashed', trash }
}

function purged(before: Workspace, data: WorkspaceEventData['workspace_purged']): Workspace {
  const trash = without(before.trash, data.trees)
  const state = before.state === 'trashed' && trash.length === 0 ? 'purged' : before.state
  return { ...before, operation: null, state, trash }
}

/** A destroy that could not finish stays `destroying`, with its reason; everything else goes back where it came from. */
function abandoned(before: Workspace, data: WorkspaceEventData['operation_abandoned']): Workspace {
  const problem = { code: data.code, message: data.message }
  if (data.operation === 'destroy') return { ...before, operation: null, problem }
  const was = before.operation?.intent['was'] as { task: string; agent: string; path: string } | undefined
  return { ...before, ...was, state: before.operation?.from ?? before.state, operation: null }
}

function operationOf(
  event: AnyEvent & { data: { operation: OperationKind; owner: Owner } },
  from: WorkspaceStateName | null,
  extra: Record<string, unknown> = {},
): Operation {
  const { operation: kind, owner, ...intent } = event.data
  const id = (event.meta.operation?.id ?? event.id) as OperationId
  return {
    id,
    kind,
    owner,
    epoch: event.meta.operation?.epoch ?? 1,
    started_at: event.at,
    from,
    intent: { ...intent, ...extra },
  }
}

const nameAndPath = ({ task, agent, path }: Workspace): { task: string; agent: string; path: string } => ({
  task,
  agent,
  path,
})

const without = (trash: readonly TrashedTree[], gone: readonly string[]): TrashedTree[] =>
  trash.filter((entry) => !gone.includes(entry.tree))
