import { mergeBlocks } from './agent-files.ts'
import type { AnyEvent } from '../log/event.ts'
import type { OperationId, WorkspaceId } from '../ids.ts'
import type { WorkspaceEventData, WorkspaceEventType } from './events.ts'
import { applyRestore, countSnapshots, moveHead, withoutSnapshots } from './evolve-history.ts'
import { evolveSandbox, withoutSandbox } from './evolve-sandbox.ts'
import {
  baseOf,
  type Operation,
  type OperationKind,
  type Owner,
  type TrashedTree,
  type Workspace,
  type WorkspaceStateName,
} from './state.ts'

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
    ...fresh(data),
    // Only where there is one: what older versions folded stays as it is.
    ...(data.expires_at !== undefined && { expires_at: data.expires_at }),
    ...mergeBlocks({}, data),
    problem: null,
    version: event.version,
  }
}

function apply(before: Workspace, event: AnyEvent): Workspace {
  const done = { operation: null, problem: null }
  switch (event.type) {
    case 'workspace_created': {
      const { workspace_path: path, created_at, imported, source = before.source } = event.data
      return { ...before, ...done, state: 'ready', path, created_at, imported, source }
    }
    case 'workspace_source_failed': {
      const { workspace_path: path, created_at, problem } = event.data
      return { ...before, operation: null, state: 'failed', path, created_at, problem }
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
        ...lasting(before, event.at),
        operation: null,
        problem: event.data.problem ?? null,
        state: event.data.problem?.code === 'source_failed' ? 'failed' : 'ready',
        trash: without(before.trash, [event.data.tree]),
      }
    case 'workspace_purged':
      return purged(before, event.data)
    case 'workspace_reset_started':
      return { ...before, operation: operationOf(event, before.state), ...mergeBlocks(before, event.data) }
    case 'workspace_reset': {
      const { generation, tree, source = before.source, imported = before.imported } = event.data
      const old: TrashedTree = { tree, generation: before.generation, reason: 'reset', at: event.at }
      return {
        ...before,
        ...done,
        state: 'ready',
        source,
        imported,
        generation,
        trash: [...before.trash, old],
        ...moveHead(before, baseOf(before)),
        redo: [],
        before: [],
      }
    }
    case 'workspace_rename_started': {
      const { to_task_id: task, to_agent_id: agent, to_path: path } = event.data
      return { ...before, task, agent, path, operation: operationOf(event, before.state, { was: nameAndPath(before) }) }
    }
    case 'workspace_renamed':
      return { ...before, operation: null, problem: event.data.problem ?? null, path: event.data.workspace_path }
    case 'workspace_purge_started':
    case 'snapshot_started':
    case 'snapshot_remove_started':
    case 'workspace_restore_started':
    case 'workspace_archive_started':
    case 'sandbox_launch_started':
    case 'sandbox_stop_started':
      return { ...before, operation: operationOf(event, before.state) }
    case 'snapshot_created': {
      const { snapshot, reason } = event.data
      const counted = { ...before, operation: null, snapshots: countSnapshots(before, [event.data]) }
      // What is made beside the work is no step of it.
      if (reason === 'safety') return counted
      return { ...counted, ...moveHead(before, snapshot), redo: [], before: [] }
    }
    case 'snapshot_removed':
      return withoutSnapshots(ended(before, 'remove_snapshots'), event.data.snapshots)
    case 'workspace_restored':
      return applyRestore(before, event.data)
    case 'workspace_branched': {
      const { [event.data.branch]: _, ...others } = before.branches
      return {
        ...before,
        branches: event.data.removed ? others : { ...others, [event.data.branch]: event.data.snapshot },
      }
    }
    case 'workspace_labelled':
      return { ...before, labels: event.data.labels }
    case 'workspace_ttl_set':
      return expiring(before, event.data.expires_at)
    case 'workspace_limit_set':
      return { ...before, config: { ...before.config, max_size_mb: event.data.max_size_mb } }
    case 'workspace_archived': {
      const { tree, path, digest, bytes } = event.data
      const made = { tree, path, digest, bytes, at: event.at }
      return { ...ended(before, 'archive'), archives: [...(before.archives ?? []), made] }
    }
    case 'workspace_archive_removed':
      return { ...before, archives: (before.archives ?? []).filter(({ path }) => path !== event.data.path) }
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
      const state = trash.length === 0 ? 'purged' : 'trashed'
      return { ...withoutSandbox(before), state, operation: null, trash, problem }
    }
    case 'trash_lost': {
      const trash = without(before.trash, event.data.trees)
      // Trees that a reset replaced are not what it was in the end.
      if (before.state !== 'trashed' || trash.some(({ reason }) => reason !== 'reset')) return { ...before, trash }
      const problem = { code: 'lost', message: 'its tree was removed from the trash by something other than aw' }
      return { ...before, state: trash.length === 0 ? 'purged' : 'trashed', trash, problem }
    }
    case 'workspace_found': {
      const entry: TrashedTree = { tree: event.data.tree, generation: before.generation, reason: 'found', at: event.at }
      return { ...before, state: 'trashed', problem: null, trash: [...before.trash, entry] }
    }
    default:
      return evolveSandbox(before, event)
  }
}

/** One without an end has no such field: its fold is that of a version that knew of none. */
function expiring({ expires_at: _, ...others }: Workspace, at: string | null): Workspace {
  return at === null ? others : { ...others, expires_at: at }
}

/** Whoever brings back what has expired wants it to stay. */
const lasting = (before: Workspace, now: string): Workspace =>
  before.expires_at !== undefined && before.expires_at <= now ? expiring(before, null) : before

/** A new tree stands where it began: a fork at the snapshot it was forked from. */
function fresh({ source }: { source: Workspace['source'] }) {
  const head = baseOf({ source })
  return { head, branch: 'main', branches: { main: head }, redo: [], before: [], snapshots: { all: 0, counted: 0 } }
}

/** Facts that come by themselves end no operation. */
const ended = (before: Workspace, kind: OperationKind): Workspace =>
  before.operation?.kind === kind ? { ...before, operation: null } : before

function cleanedUp(before: Workspace, event: Of<'workspace_cleanup'>): Workspace {
  const { tree, cleanup_reason: reason } = event.data
  const entry: TrashedTree[] = tree === null ? [] : [{ tree, generation: before.generation, reason, at: event.at }]
  const trash = [...before.trash, ...entry]
  const state = trash.length === 0 ? 'purged' : 'trashed'
  return { ...withoutSandbox(before), operation: null, problem: null, state, trash }
}

function purged(before: Workspace, data: WorkspaceEventData['workspace_purged']): Workspace {
  const trash = without(before.trash, data.trees)
  const state = before.state === 'trashed' && trash.length === 0 ? 'purged' : before.state
  const gone = data.snapshots.length
  const snapshots = gone === 0 ? before.snapshots : { all: before.snapshots.all - gone, counted: 0 }
  return { ...before, operation: null, state, trash, snapshots }
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

const nameAndPath = ({ task, agent, path }: Workspace) => ({ task, agent, path })

const without = (trash: readonly TrashedTree[], gone: readonly string[]): TrashedTree[] =>
  trash.filter((entry) => !gone.includes(entry.tree))
