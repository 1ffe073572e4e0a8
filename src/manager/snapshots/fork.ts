import type { Inputs, Outputs } from '../../api/table.ts'
import { assertNameFree } from '../../domain/log/append-rules.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { isSnapshotId, type SnapshotId, type WorkspaceId } from '../../domain/ids.ts'
import { formatName, parseName } from '../../domain/names.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { baseOf, isLost, nameOf, ofRepository, type Source, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { createFrom } from '../workspaces/provision.ts'
import { findWorkspace } from '../kernel/find.ts'
import { leftOutOf, telling } from './omissions.ts'
import { readDocuments } from '../kernel/metadata.ts'
import { checkpointSignal, withWorkspace } from '../kernel/operations.ts'
import { forgetState, presentState } from './present-state.ts'
import { resolveSnapshot, snapshotsOf } from './lookup.ts'
import { view } from '../kernel/view.ts'

type Forks = Outputs['fork']
type ForkSource = Extract<Source, { kind: 'workspace' }>

/**
 * One snapshot of the source, then a workspace for each name. Each succeeds or fails by itself; if none succeeds, the
 * source is as it was.
 */
export async function fork(core: Core, input: Inputs['fork'], request: Request): Promise<Forks> {
  assertNoSnapshot(input)
  const { id } = await findWorkspace(core, input.id)
  const given = givenNames(input)
  const [first] = given
  if (given.length === 1 && first !== undefined && input.count === undefined) await assertFree(core, first)
  const { origin, snapshot, isNew, left_out } = await withWorkspace(core, request, id, async (workspace) => {
    // Snapshots are all that is left of a lost one, and of an erased one those that forks began as.
    const isLeft = isLost(workspace) || workspace.state === 'purged'
    if (!isLeft || input.at === undefined) assertAllowed(workspace, 'fork')
    return forkPoint(core, input, workspace, request)
  })
  const source: ForkSource = {
    kind: 'workspace',
    workspace: origin.id,
    name: nameOf(origin),
    snapshot,
    at: core.clock.now().toISOString(),
    ...telling(left_out),
    ...ofRepository(origin),
  }
  const forks: Forks['forks'][number][] = []
  try {
    await forkAll(core, input, origin, source, given, request, forks)
    return { source: nameOf(origin), snapshot, ...telling(left_out), forks }
  } finally {
    if (isNew && !forks.some(({ ok }) => ok)) await forgetState(core, request, id, snapshot)
  }
}

/** @param forks how each ended, also if all of it is stopped */
async function forkAll(
  core: Core,
  input: Inputs['fork'],
  origin: Workspace,
  source: ForkSource,
  given: readonly string[],
  request: Request,
  forks: Forks['forks'][number][],
): Promise<void> {
  const numbered = input.count !== undefined || given.length === 0
  const total = numbered ? (input.count ?? 1) : given.length
  for await (const name of numbered ? freeNames(core, given[0] ?? nameOf(origin)) : given) {
    try {
      checkpointSignal(request)
      const made = await forkOne(core, input, origin, source, name, request)
      forks.push(made)
      const { path } = made.workspace
      request.onProgress?.({ phase: 'forking', files: forks.length, made: { name, path } })
    } catch (error) {
      if (request.signal?.aborted && total > 1) throw stopped(error, forks, total, numbered ? [] : given)
      // Somebody else has taken the number meanwhile: the next one is as good.
      if (numbered && toAwError(error).code === 'workspace_exists') continue
      // A single one fails as a create does; of several each has its own result.
      if (total === 1) throw error
      forks.push(failed(name, error))
    }
    if (forks.length === total) break
  }
}

/** Told before the source is frozen for nothing. The log has the last word. */
async function assertFree(core: Core, name: string): Promise<void> {
  const { task, agent } = parseName(name)
  const holder = await core.store.find(task, agent)
  if (holder?.operation === null) assertNameFree({ id: '', task, agent }, holder.id)
}

/** A snapshot that is asked for, the head if the tree is still that, else a new one. */
async function forkPoint(
  core: Core,
  input: Inputs['fork'],
  workspace: Workspace,
  request: Request,
): Promise<{ origin: Workspace; snapshot: SnapshotId; isNew: boolean; left_out: readonly string[] }> {
  if (input.at !== undefined) {
    const snapshot = await resolveSnapshot(core, workspace, input.at)
    return { origin: workspace, snapshot, isNew: false, left_out: await leftOutOf(core, workspace, snapshot) }
  }
  const taking = { reason: 'fork' as const, consistent: input.consistent, limited: true }
  const { workspace: origin, ...state } = await presentState(core, request, workspace, taking)
  return { origin, ...state }
}

async function forkOne(
  core: Core,
  input: Inputs['fork'],
  origin: Workspace,
  source: ForkSource,
  name: string,
  request: Request,
) {
  const { max_size_mb, allowed_operations, git_config } = origin.config
  const documents = await readDocuments(core, origin)
  const settings = {
    id: name,
    profile: origin.profile,
    labels: input.labels ?? origin.labels,
    ttl: input.ttl,
    config: { max_size_mb, allowed_operations, git_config, ...documents },
  }
  const pinned = <T>(begin: () => Promise<T>): Promise<T> => whilePresent(core, request, source, begin)
  return {
    name,
    ok: true as const,
    workspace: view(core, await createFrom(core, settings, source, request, { pinned })),
    error: null,
  }
}

/** Those that are there stay. */
function stopped(error: unknown, forks: Forks['forks'], total: number, names: readonly string[]): AwError {
  const made = forks.filter(({ ok }) => ok).map(({ name }) => name)
  const others = names.filter((name) => !made.includes(name))
  const hints = [
    ...(made.length === 0 ? [] : [`Made, and kept: ${made.join(', ')}`]),
    ...(others.length === 0 ? [] : [`Not made: ${others.join(', ')}`]),
  ]
  return new AwError('aborted', `Stopped: ${made.length} of ${total} forks were made`, {
    hint: hints.join('. '),
    data: { made, asked: total },
    cause: error,
  })
}

/** `fix-login@head` is how two trees are compared. */
function assertNoSnapshot({ id }: Inputs['fork']): void {
  if (isSnapshotId(id))
    throw new AwError('invalid_input', 'That is a snapshot; a fork is named by the workspace', {
      hint: `aw create NAME --from-workspace ${id}`,
      data: { field: 'id' },
    })
  const cut = id.indexOf('@')
  if (cut === -1) return
  const [name, at] = [id.slice(0, cut), id.slice(cut + 1)]
  throw new AwError('invalid_input', `The snapshot to begin as is named apart from the workspace`, {
    hint: `aw fork ${name} --at ${at === '' ? 'SNAPSHOT' : at}`,
    data: { field: 'id' },
  })
}

function failed(name: string, error: unknown): Forks['forks'][number] {
  const { code, message, hint } = toAwError(error)
  return { name, ok: false, workspace: null, error: { code, message, hint: hint ?? null } }
}

/**
 * The intent of a fork keeps its snapshot from being removed. It is written under the lock of the workspace that has the
 * snapshot, which whoever removes one holds as well.
 */
async function whilePresent<T>(
  core: Core,
  request: Request,
  { workspace: owner, snapshot }: { workspace: WorkspaceId; snapshot: SnapshotId },
  begin: () => Promise<T>,
): Promise<T> {
  return withWorkspace(core, request, owner, async (workspace) => {
    // A fork that is not gone keeps what it began as, though that is another's.
    const isBase = workspace.state !== 'purged' && baseOf(workspace) === snapshot
    if (isBase || workspace.head === snapshot || (await snapshotsOf(core, owner)).has(snapshot)) return begin()
    throw new AwError('snapshot_not_found', `The snapshot ${snapshot} was removed meanwhile`, { data: { snapshot } })
  })
}

function givenNames({ to = [], count }: Inputs['fork']): string[] {
  const names = to.map((name) => formatName(parseName(name)))
  if (count === undefined || names.length <= 1) return names
  throw new AwError('invalid_input', 'With a count there is one name, which is then numbered', {
    hint: 'Give names, or one name and a count',
    data: { field: 'count' },
  })
}

/** Numbered ones that nobody has, without end. */
async function* freeNames(core: Core, stem: string): AsyncGenerator<string> {
  for (let number = 1; ; number++) {
    const { task, agent } = parseName(`${stem}-${number}`)
    if ((await core.store.find(task, agent)) === undefined) yield `${task}/${agent}`
  }
}
