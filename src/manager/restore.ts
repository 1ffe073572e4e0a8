import type { Inputs, Outputs } from '../api/table.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import type { SnapshotId } from '../domain/ids.ts'
import { assertAllowed } from '../domain/workspace/allow.ts'
import type { RestoreKind, SnapshotFacts } from '../domain/workspace/events.ts'
import { nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Frozen } from '../ports/storage-driver.ts'
import { assertUnused, type Risks } from './activity.ts'
import { newEvent, newId, type Core, type OperationRef, type Request } from './core.ts'
import { countChanges, differs } from './diff.ts'
import { findWorkspace } from './find.ts'
import { refreshMetadata } from './metadata.ts'
import { abandon, append, begin, giveUp, intentOf, isFenced, whose, withWorkspace } from './operations.ts'
import { snapshotPlace, volumeOf } from './places.ts'
import { checkedPaths, placePaths, stagePaths, unstage } from './restore-paths.ts'
import { factsOf } from './snapshot.ts'
import { excluded, resolveSnapshot, snapshotsOf } from './snapshots.ts'

type Restored = Outputs['restore']

export async function restore(core: Core, input: Inputs['restore'], request: Request): Promise<Restored> {
  const paths = input.paths === undefined ? null : checkedPaths(input.paths)
  return underLock(core, input, request, async (workspace) => {
    const { snapshot, branch } = await chosen(core, workspace, input)
    return { how: 'restore', snapshot, branch, paths }
  })
}

async function chosen(
  core: Core,
  workspace: Workspace,
  input: Inputs['restore'],
): Promise<{ snapshot: SnapshotId; branch: string }> {
  const { snapshot, branch } = input
  if (branch === undefined)
    return { snapshot: await resolveSnapshot(core, workspace, snapshot ?? 'head'), branch: workspace.branch }
  if (input.paths !== undefined || snapshot !== undefined) {
    throw new AwError('invalid_input', 'A branch is restored whole, from its last snapshot', {
      hint: 'Give a branch, or a snapshot and paths',
      data: { field: 'branch' },
    })
  }
  const end = Object.hasOwn(workspace.branches, branch) ? workspace.branches[branch] : undefined
  if (end !== undefined && end !== null) return { snapshot: end, branch }
  throw new AwError(
    'snapshot_not_found',
    `${nameOf(workspace)} has no snapshot on a branch ${JSON.stringify(branch)}`,
    {
      hint: `See what there is: aw branch ${nameOf(workspace)}`,
      data: { id: workspace.id, branch },
    },
  )
}

/** To the head if the tree differs from it, else to what the head grew from. */
export async function undo(core: Core, input: Inputs['undo'], request: Request): Promise<Restored> {
  return underLock(core, input, request, async (workspace) => {
    const { head, branch } = workspace
    const dirty = head !== null && (await differs(core, workspace, head))
    const parent = head === null ? null : ((await snapshotsOf(core, workspace.id)).get(head)?.parent ?? null)
    const snapshot = dirty ? head : parent
    if (snapshot !== null) return { how: 'undo', snapshot, branch, paths: null, clean: !dirty }
    const why = head === null ? 'has no snapshot to go back to' : 'is where it began'
    throw new AwError('nothing_to_undo', `${nameOf(workspace)} ${why}`, {
      hint: `Take snapshots as you go: aw snapshot ${nameOf(workspace)}`,
      data: { id: workspace.id },
    })
  })
}

export async function redo(core: Core, input: Inputs['redo'], request: Request): Promise<Restored> {
  return underLock(core, input, request, async (workspace) => {
    const { head, branch, redo: stack } = workspace
    const [snapshot] = stack
    const dirty = head !== null && snapshot !== undefined && (await differs(core, workspace, head))
    if (snapshot !== undefined && !dirty) return { how: 'redo', snapshot, branch, paths: null, clean: true }
    const name = nameOf(workspace)
    throw new AwError('nothing_to_redo', dirty ? `${name} was changed since the undo` : `${name} has nothing undone`, {
      hint: dirty
        ? `Restore it by name instead: aw restore ${name} ${snapshot}`
        : `See its history: aw snapshots ${name}`,
      data: { id: workspace.id },
    })
  })
}

interface Plan {
  readonly how: RestoreKind
  readonly snapshot: SnapshotId
  readonly branch: string
  readonly paths: string[] | null
  /** The tree is its head, which is kept already. */
  readonly clean?: boolean
}

async function underLock(
  core: Core,
  input: Risks & { id: string },
  request: Request,
  planned: (workspace: Workspace) => Promise<Plan>,
): Promise<Restored> {
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (workspace) => {
    assertAllowed(workspace, 'restore')
    await assertUnused(core, workspace, input)
    const plan = await planned(workspace)
    if (!(await core.storage.exists(snapshotPlace(plan.snapshot)))) throw gone(workspace, plan.snapshot)
    return restoreTo(core, request, workspace, plan)
  })
}

const gone = (workspace: Workspace, snapshot: SnapshotId): AwError =>
  new AwError('snapshot_not_found', `The snapshot ${snapshot} is not on disk any more`, {
    hint: 'Something other than aw removed it; aw recover brings the log up to date',
    data: { id: workspace.id, snapshot },
  })

async function restoreTo(core: Core, request: Request, workspace: Workspace, plan: Plan): Promise<Restored> {
  const { snapshot, how, branch, paths } = plan
  const { workspace: begun, operation } = await begin(
    core,
    request,
    workspace,
    'workspace_restore_started',
    'restore',
    {
      ...whose(workspace),
      workspace_path: workspace.path,
      snapshot,
      keep: newId(core, 'snap'),
      resume: newId(core, 'snap'),
      how,
      branch,
      paths,
      since: workspace.head,
      generation: paths === null ? workspace.generation + 1 : workspace.generation,
    },
  )
  const done = await (paths === null
    ? exchangeTree(core, request, begun, operation)
    : exchangePaths(core, request, begun, operation, paths))
  const { keep } = intentOf(begun, 'restore')
  const kept = plan.clean === true ? [] : [keptFacts(begun, keep, done.frozen)]
  const changes = await countChanges(core, begun, keep, snapshot, paths)
  if (plan.clean === true) await core.storage.erase(snapshotPlace(keep))
  await finishRestore(core, request, begun, operation, kept, done.problem)
  if (done.problem !== undefined) throw halfWay(begun, done.problem, keep)
  return { workspace: nameOf(workspace), snapshot, branch, kept: kept[0]?.snapshot ?? null, paths, ...changes }
}

interface Done {
  readonly frozen: Frozen
  /** Some of the paths could not be put in their place. */
  readonly problem?: AwError
}

/** A failure in the middle is brought to an end; if the tree was not touched yet, it is undone. */
async function exchangeTree(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Done> {
  try {
    const frozen = await exchange(core, request, workspace)
    if (frozen !== undefined) return { frozen }
    throw new AwError('internal', 'The storage did not restore the tree')
  } catch (error) {
    // If even this fails, recovery goes on with it; the first error is the one to tell.
    const frozen = isFenced(error)
      ? undefined
      : await exchange(core, request, workspace, { resume: true }).catch(() => null)
    if (frozen) return { frozen }
    if (frozen === undefined && !isFenced(error))
      await giveUp(core, request, { workspace, operation }, 'restore', error)
    throw error
  }
}

/** What was there is kept first; then the paths are copied beside the tree, then put in their place. */
async function exchangePaths(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  paths: string[],
): Promise<Done> {
  const { keep, since } = intentOf(workspace, 'restore')
  try {
    const frozen = await core.storage.snapshot(volumeOf(workspace), snapshotPlace(keep), {
      exclude: excluded(workspace),
      since: since === null ? undefined : snapshotPlace(since),
      consistent: true,
      signal: request.signal,
    })
    const staged = await stagePaths(core, request, workspace, paths)
    const problem = await placePaths(core, workspace, staged).then(() => undefined, toAwError)
    return { frozen, ...(problem && { problem }) }
  } catch (error) {
    if (!isFenced(error))
      await giveUp(core, request, { workspace, operation }, 'restore', error, () => unprepare(core, workspace))
    throw error
  }
}

const halfWay = (workspace: Workspace, cause: AwError, keep: SnapshotId): AwError =>
  new AwError(cause.code, `Not all paths could be restored: ${cause.message}`, {
    hint: `What was there before is kept: aw restore ${nameOf(workspace)} ${keep}`,
    data: { ...cause.data, id: workspace.id, kept: keep },
    cause,
  })

async function unprepare(core: Core, workspace: Workspace): Promise<void> {
  await unstage(core, workspace)
  await core.storage.erase(snapshotPlace(intentOf(workspace, 'restore').keep))
}

function exchange(core: Core, request: Request, workspace: Workspace, { resume = false } = {}) {
  const intent = intentOf(workspace, 'restore')
  return core.storage.restore(volumeOf(workspace), snapshotPlace(intent.snapshot), snapshotPlace(intent.keep), {
    exclude: excluded(workspace),
    since: intent.since === null ? undefined : snapshotPlace(intent.since),
    // From here on it is finished, whoever waits for it.
    signal: resume ? undefined : request.signal,
    resume: resume ? snapshotPlace(intent.resume) : undefined,
    onProgress: (done) => request.onProgress?.({ phase: 'restoring', ...done }),
  })
}

function keptFacts(workspace: Workspace, id: SnapshotId, frozen: Frozen): SnapshotFacts {
  const intent = intentOf(workspace, 'restore')
  const plan = { snapshot: id, parent: intent.since, branch: workspace.branch, label: null, meta: {}, key: null }
  return factsOf({ ...plan, reason: 'safety' }, frozen)
}

async function finishRestore(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  kept: SnapshotFacts[],
  failed?: AwError,
): Promise<Workspace> {
  const { snapshot, how, branch, paths, generation } = intentOf(workspace, 'restore')
  const metadata = await refreshMetadata(core, workspace)
  const problem = failed === undefined ? metadata : { code: failed.code, message: failed.message }
  const data = {
    ...whose(workspace),
    workspace_path: workspace.path,
    snapshot,
    how,
    branch,
    paths,
    kept,
    generation,
    ...(problem && { problem }),
  }
  return append(core, request, workspace, [newEvent(core, request, 'workspace_restored', data, operation)])
}

/** Forward if the tree was touched, else back. What was replaced is kept in any case. */
export async function recoverRestore(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<{ workspace: Workspace; outcome: string }> {
  const intent = intentOf(workspace, 'restore')
  const [keep, resume] = [snapshotPlace(intent.keep), snapshotPlace(intent.resume)]
  const done: Done | undefined = await (intent.paths === null
    ? exchange(core, request, workspace, { resume: true }).then((frozen) => frozen && { frozen })
    : redoPaths(core, request, workspace, intent.paths))
  if (done === undefined) {
    await unprepare(core, workspace)
    const reason = new Error('the process that restored it died before the tree was touched')
    return { workspace: await abandon(core, request, workspace, operation, 'restore', reason), outcome: 'undone' }
  }
  const kept: SnapshotFacts[] = []
  if (await core.storage.exists(keep)) kept.push(keptFacts(workspace, intent.keep, done.frozen))
  if (await core.storage.exists(resume)) kept.push(keptFacts(workspace, intent.resume, done.frozen))
  const restored = await finishRestore(core, request, workspace, operation, kept, done.problem)
  return { workspace: restored, outcome: 'restored' }
}

/** Paths can be put back again and again; the tree was untouched as long as it was not kept. */
async function redoPaths(
  core: Core,
  request: Request,
  workspace: Workspace,
  paths: string[],
): Promise<Done | undefined> {
  const { keep } = intentOf(workspace, 'restore')
  if (!(await core.storage.exists(snapshotPlace(keep)))) return undefined
  const place = async (): Promise<void> =>
    placePaths(core, workspace, await stagePaths(core, request, workspace, paths))
  // What stands in the way is told; everything that was there is kept.
  const problem = await place().then(() => undefined, toAwError)
  return { frozen: recovered, ...(problem && { problem }) }
}

const recovered: Frozen = { mechanism: 'recovered', consistency: 'atomic', changed: null }
