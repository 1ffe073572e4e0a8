import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { SnapshotId, WorkspaceId } from '../../domain/ids.ts'
import { assertNameFree as assertNotHeld } from '../../domain/log/append-rules.ts'
import { parseName } from '../../domain/names.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { baseOf, isLost, nameOf, repositoryField, type Source, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { readDocuments } from '../kernel/metadata.ts'
import { withWorkspace } from '../kernel/operations.ts'
import { omissionsField, omissionsOf } from './omissions.ts'
import { freezeCurrentState } from './current-state.ts'
import { resolveSnapshot, snapshotsOf } from './lookup.ts'

/** What a fork begins as: a snapshot of its origin, and what it takes over from it. */
export interface ForkPoint {
  readonly origin: Workspace
  readonly source: Extract<Source, { kind: 'workspace' }>
  /** The snapshot was made for it, and goes if no fork comes of it. */
  readonly isNew: boolean
  readonly left_out: readonly string[]
}

export async function forkPoint(
  core: Core,
  input: Pick<Inputs['fork'], 'id' | 'at' | 'consistent'>,
  request: Request,
): Promise<ForkPoint> {
  const { id } = await findWorkspace(core, input.id)
  const { origin, snapshot, isNew, left_out } = await withWorkspace(core, request, id, async (workspace) => {
    // Snapshots are all that is left of a lost one, and of an erased one those that forks began as.
    const isLeft = isLost(workspace) || workspace.state === 'purged'
    if (!isLeft || input.at === undefined) assertAllowed(workspace, 'fork')
    return snapshotToFork(core, input, workspace, request)
  })
  const source = {
    kind: 'workspace' as const,
    workspace: origin.id,
    name: nameOf(origin),
    snapshot,
    at: core.clock.now().toISOString(),
    ...omissionsField(left_out),
    ...repositoryField(origin),
  }
  return { origin, source, isNew, left_out }
}

/** A snapshot that is asked for, the head if the tree is still that, else a new one. */
async function snapshotToFork(
  core: Core,
  input: Pick<Inputs['fork'], 'at' | 'consistent'>,
  workspace: Workspace,
  request: Request,
): Promise<{ origin: Workspace; snapshot: SnapshotId; isNew: boolean; left_out: readonly string[] }> {
  if (input.at !== undefined) {
    const snapshot = await resolveSnapshot(core, workspace, input.at)
    return { origin: workspace, snapshot, isNew: false, left_out: await omissionsOf(core, workspace, snapshot) }
  }
  const taking = { reason: 'fork' as const, consistent: input.consistent, limited: true }
  const { workspace: origin, ...state } = await freezeCurrentState(core, request, workspace, taking)
  return { origin, ...state }
}

/** A fork is made as its origin was. */
export async function forkSettings(
  core: Core,
  origin: Workspace,
  { labels, ttl }: Pick<Inputs['fork'], 'labels' | 'ttl'>,
): Promise<Inputs['create']> {
  const { max_size_mb, allowed_operations, git_config } = origin.config
  const documents = await readDocuments(core, origin)
  return {
    profile: origin.profile,
    labels: labels ?? origin.labels,
    ttl,
    config: { max_size_mb, allowed_operations, git_config, ...documents },
  }
}

/** Told before the source is frozen for nothing. The log has the last word. */
export async function assertNameFree(core: Core, name: string): Promise<void> {
  const { task, agent } = parseName(name)
  const holder = await core.store.find(task, agent)
  if (holder?.operation === null) assertNotHeld({ id: '', task, agent }, holder.id)
}

/**
 * The intent of a fork keeps its snapshot from being removed. It is written under the lock of the workspace that has the
 * snapshot, which whoever removes one holds as well.
 */
export async function whilePresent<T>(
  core: Core,
  request: Request,
  { workspace: owner, snapshot }: { readonly workspace: WorkspaceId; readonly snapshot: SnapshotId },
  begin: () => Promise<T>,
): Promise<T> {
  return withWorkspace(core, request, owner, async (workspace) => {
    // A fork that is not gone keeps what it began as, though that is another's.
    const isBase = workspace.state !== 'purged' && baseOf(workspace) === snapshot
    if (isBase || workspace.head === snapshot || (await snapshotsOf(core, owner)).has(snapshot)) return begin()
    throw new AwError('snapshot_not_found', `The snapshot ${snapshot} was removed meanwhile`, { data: { snapshot } })
  })
}
