import type { Outputs } from '../../api/table.ts'
import type { Snapshot } from '../../domain/workspace/snapshots.ts'
import { baseNameOf, baseOf, nameOf, type Source, type Workspace } from '../../domain/workspace/state.ts'
import { isOwnBase } from '../sources/base-trees.ts'
import type { Core } from '../core.ts'

export type WorkspaceView = Outputs['show']

/** What the doors show of a workspace: owners of operations and recovery data stay inside. */
export function view(core: Core, workspace: Workspace): WorkspaceView {
  const { id, task, agent, state, profile, source, config, labels, driver, generation } = workspace
  const operation = workspace.operation
  return {
    workspace_id: nameOf(workspace),
    id,
    task,
    agent,
    state,
    path: hostPath(core, workspace.path),
    profile,
    source: { ...shownSource(source) },
    config,
    labels,
    driver,
    generation,
    created_at: workspace.created_at,
    updated_at: workspace.updated_at,
    operation:
      operation === null
        ? null
        : { id: operation.id, kind: operation.kind, started_at: operation.started_at, epoch: operation.epoch },
    problem: workspace.problem,
    trash: workspace.trash,
    sandbox: sandboxView(workspace),
    commands: workspace.commands?.length ?? 0,
    head: workspace.head,
    branch: workspace.branch,
    branches: workspace.branches,
    base: baseOf(workspace) ?? baseNameOf({ source: shownSource(source) }),
    snapshots: workspace.snapshots.all,
    expires_at: workspace.expires_at ?? null,
    archives: workspace.archives ?? [],
    imported: workspace.imported as WorkspaceView['imported'],
  }
}

/** Null where workspaces are seen in sandboxes alone: what is at its path then leads nowhere. */
export const hostPath = (core: Core, path: string): string => (hasHostPaths(core) ? path : (null as never))

export const hasHostPaths = ({ storage }: Core): boolean => storage.capabilities.visibility === 'host'

/** A base of its own is nothing that others could begin as, or that anybody could name. */
const shownSource = (source: Source): Source =>
  'base' in source && isOwnBase(source.base ?? '') ? { ...source, base: null } : source

function sandboxView({ sandbox }: Workspace): WorkspaceView['sandbox'] {
  if (sandbox === undefined) return null
  const { sandbox: id, isolation, network, limits, mount, agent = null, mcp = false, started_at, walls } = sandbox
  const allow = 'allow' in network ? network.allow : []
  const memory_mb = limits.memory_mb ?? 0
  return { id, isolation, network: network.mode, allow, agent, mcp, mount, memory_mb, started_at, ...walls }
}

export type SnapshotView = Outputs['snapshots'][number]

export function snapshotView(snapshot: Snapshot, workspace: Workspace): SnapshotView {
  const { snapshot: id, workspace: _, at, passing: _passing, named: _named, differed: _differed, ...facts } = snapshot
  const tips = Object.entries(workspace.branches).filter(([, tip]) => tip === id)
  return {
    id,
    workspace: nameOf(workspace),
    ...facts,
    created_at: at,
    head: workspace.head === id,
    tips: tips.map(([name]) => name),
  }
}
