import type { Inputs, Outputs } from '../../api/table.ts'
import { toAwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { baseOf, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { beginningOf, isBeyondUs, isUnknown } from '../diff/baseline.ts'
import { countDifferences, stepsOf } from '../diff/differences.ts'
import { findWorkspace } from '../kernel/find.ts'
import { checkpointSignal } from '../kernel/operations.ts'
import { changesBetween } from '../sandboxes/placeholders.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'
import { rulerFor, usual, type Ruler } from '../space/measure.ts'
import { meansSnapshot, sideOf } from '../diff/operands.ts'
import { snapshotsOf } from './snapshots.ts'
import { snapshotView, view, type SnapshotView, type WorkspaceView } from '../kernel/view.ts'

/** Use cases that only look at snapshots. None of them waits for a lock. */

export async function snapshots(
  core: Core,
  input: Inputs['snapshots'],
  request: Request,
): Promise<Outputs['snapshots']> {
  const workspace = await findWorkspace(core, input.id)
  const all = [...(await snapshotsOf(core, workspace.id)).values()]
  const newest = input.limit === undefined ? all : all.slice(-input.limit)
  const base = input.base === true ? await snapshotAt(core, workspace, baseOf(workspace)) : null
  const views = [
    ...(base === null ? [] : [{ ...base, base: true }]),
    ...newest.map((one) => snapshotView(one, workspace)),
  ]
  if (input.sizes !== true) return views
  const ruler = rulerFor(core, request, views.length, usual)
  const sized: SnapshotView[] = []
  // The newest first: if there are more than can be measured, those are asked for.
  for (const one of views.toReversed()) sized.push({ ...one, ...(await sizesOf(one, ruler)) })
  return sized.toReversed()
}

/** Null of what was not measured whole, or has gone since the list was read. */
async function sizesOf({ id }: SnapshotView, ruler: Ruler): Promise<Pick<SnapshotView, 'size_bytes' | 'own_bytes'>> {
  const measured = await ruler(snapshotPlace(id), { own: true }).catch(() => undefined)
  if (measured?.complete !== true) return { size_bytes: null, own_bytes: null }
  return { size_bytes: measured.bytes, own_bytes: measured.own ?? null }
}

export async function describe(core: Core, input: Inputs['describe'], request: Request): Promise<Outputs['describe']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'path')
  const head = await snapshotAt(core, workspace, workspace.head)
  // Without a snapshot everything is yet to be kept.
  const changes =
    workspace.head === null
      ? await changesOfAll(core, request, workspace)
      : await countDifferences(core, workspace, workspace.head)
  return {
    workspace: nameOf(workspace),
    head,
    branch: workspace.branch,
    dirty: head === null || changes > 0,
    changes,
    snapshots: workspace.snapshots.all,
  }
}

/** Since the beginning; none if nobody knows what that was. */
async function changesOfAll(core: Core, request: Request, workspace: Workspace): Promise<number> {
  try {
    return await changesSinceBeginning(core, request, workspace)
  } catch (error) {
    if (isBeyondUs(error)) return 0
    throw error
  }
}

export async function changesSinceBeginning(core: Core, request: Request, workspace: Workspace): Promise<number> {
  await using began = await beginningOf(core, request, workspace)
  const to = { workspace, place: volumeOf(workspace) }
  const looking = { renames: false, signal: request.signal }
  let count = 0
  for await (const change of changesBetween(core, { workspace, ...began }, to, looking))
    if (!isUnknown(began, change)) count += stepsOf(change).length
  return count
}

/** What a fork began as is of a workspace that it goes back to. */
async function snapshotAt(core: Core, workspace: Workspace, id: SnapshotId | null): Promise<SnapshotView | null> {
  if (id === null) return null
  let owner: Workspace | undefined = workspace
  while (owner !== undefined) {
    const found = (await snapshotsOf(core, owner.id)).get(id)
    if (found !== undefined) return { ...snapshotView(found, workspace), workspace: nameOf(owner) }
    owner = owner.source.kind === 'workspace' ? await core.store.get(owner.source.workspace) : undefined
  }
  return null
}

/** Where a workspace came from and what came from it. */
async function lineage(core: Core, workspace: Workspace): Promise<Partial<WorkspaceView>> {
  const { source } = workspace
  const forks = await core.store.list({ forkOf: workspace.id })
  return {
    forked_from:
      source.kind === 'workspace'
        ? { id: source.workspace, name: source.name, snapshot: source.snapshot, at: source.at }
        : null,
    forks: forks
      .filter(({ state }) => state !== 'purged')
      .map((fork) => ({ id: fork.id, name: nameOf(fork), snapshot: baseOf(fork) ?? '' })),
  }
}

export const shown = async (core: Core, workspace: Workspace): Promise<WorkspaceView> => ({
  ...view(core, workspace),
  ...(await lineage(core, workspace)),
})

/** Reads every snapshot whole. One that cannot be read is a finding, not an error. */
export async function verify(core: Core, input: Inputs['verify'], request: Request): Promise<Outputs['verify']> {
  const { workspaces, only } = await chosen(core, input.id)
  const results: Outputs['verify']['snapshots'][number][] = []
  for (const workspace of workspaces) {
    for (const { snapshot } of (await snapshotsOf(core, workspace.id)).values()) {
      if (only !== null && snapshot !== only) continue
      checkpointSignal(request)
      const checked = await core.storage
        .verify(snapshotPlace(snapshot), { signal: request.signal })
        .catch((error: unknown) => unreadable(error))
      results.push({ snapshot, workspace: nameOf(workspace), ...checked, problems: [...checked.problems] })
      request.onProgress?.({ phase: 'checking', files: results.length })
    }
  }
  return { intact: verdict(results), snapshots: results }
}

/** All of them, those of a workspace, or a single one. */
async function chosen(core: Core, ref: string | undefined) {
  if (ref === undefined) return { workspaces: await core.store.list(), only: null }
  if (!ref.includes('@') && !(await meansSnapshot(core, ref)))
    return { workspaces: [await findWorkspace(core, ref)], only: null }
  const { workspace, snapshot } = await sideOf(core, ref)
  return { workspaces: [workspace], only: snapshot }
}

/** Null: there are some, and nothing to compare any of them with. */
function verdict(results: Outputs['verify']['snapshots']): boolean | null {
  if (results.some(({ problems }) => problems.length > 0)) return false
  return results.length > 0 && results.every(({ method }) => method === 'none') ? null : true
}

function unreadable(error: unknown) {
  const { code, message } = toAwError(error)
  if (code === 'aborted' || code === 'storage_unavailable') throw error
  return { method: 'none' as const, files: 0, bytes: 0, problems: [{ path: '', message }] }
}
