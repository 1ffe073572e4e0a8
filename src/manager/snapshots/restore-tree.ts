import type { Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { RestoreKind, SnapshotFacts } from '../../domain/workspace/events.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Exchanged, Frozen } from '../../ports/storage-driver.ts'
import { newEvent, newId, type Core, type OperationRef, type Request } from '../core.ts'
import { countChanges, differs } from '../diff/differences.ts'
import { keepLateWrites } from './late-writes.ts'
import { refreshMetadata } from '../kernel/metadata.ts'
import { abandon, append, begin, intentOf, isFenced, nameFields, rollBack } from '../kernel/operations.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'
import { removeSnapshots } from './snapshot-remove.ts'
import { asBytes, placePaths, removeRestoredPlaceholders, stagePaths, unstage } from './restore-paths.ts'
import { kernelLimit } from '../space/size-limit.ts'
import { factsOf } from './snapshot.ts'
import { excludedPaths } from './lookup.ts'

type Restored = Omit<Outputs['restore'], 'ended'>

export interface Plan {
  readonly how: RestoreKind
  readonly snapshot: SnapshotId
  readonly branch: string
  readonly paths: string[] | null
}

/** Restores what the plan says. Needs the lock. */
export async function restoreTo(core: Core, request: Request, workspace: Workspace, plan: Plan): Promise<Restored> {
  const { snapshot, how, branch, paths } = plan
  const { workspace: begun, operation } = await begin(
    core,
    request,
    workspace,
    'workspace_restore_started',
    'restore',
    {
      ...nameFields(workspace),
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
  const kept = await keptBy(core, begun, done.frozen)
  // Restored to the head, as most are, one comparison tells what was changed and that something was.
  const counted = () => countChanges(core, begun, keep, snapshot, paths)
  // If that fails, the restore is to be told before the failure.
  const early = workspace.head === snapshot ? await counted().catch(() => undefined) : undefined
  const isOther = early !== undefined && paths === null && !isNothing(early)
  const isHead = !isOther && (await equalsHead(core, begun, kept))
  const outcome = { ...done, kept, replaced: isHead ? workspace.head : keep }
  const after = await finishRestore(core, request, begun, operation, outcome)
  if (done.problem !== undefined) throw halfWay(begun, done.problem, keep)
  const changes = early ?? (await counted())
  const isSpare = isHead && (await removed(core, request, after, keep))
  const { split = [] } = done
  return { workspace: nameOf(workspace), snapshot, branch, kept: isSpare ? null : keep, paths, ...changes, split }
}

/** Both are frozen: whatever is written meanwhile, this is true. */
const equalsHead = async (core: Core, workspace: Workspace, kept: readonly SnapshotFacts[]): Promise<boolean> => {
  const { since, keep } = intentOf(workspace, 'restore')
  if (since === null || !isAlone(workspace, kept)) return false
  return !(await differs(core, workspace, since, snapshotPlace(keep), { exact: true }))
}

/** Nothing was found in the tree that came after it was kept. */
const isAlone = (workspace: Workspace, kept: readonly SnapshotFacts[]): boolean =>
  kept.length === 1 && kept[0]?.snapshot === intentOf(workspace, 'restore').keep

const isNothing = ({ added, changed, removed }: { added: number; changed: number; removed: number }): boolean =>
  added + changed + removed === 0

/** What equals another snapshot need not stay. It does no harm either: the restore is done. */
async function removed(core: Core, request: Request, workspace: Workspace, id: SnapshotId): Promise<boolean> {
  return removeSnapshots(core, request, workspace, [id], 'unneeded').then(
    () => true,
    () => false,
  )
}

interface Done {
  readonly frozen: Exchanged
  /** What has no other names any more, though it has in the snapshot. */
  readonly split?: readonly string[]
  /** Some of the paths, or of the tree, could not be put in their place. */
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
    if (isFenced(error)) throw error
    // The first error is the one to tell.
    const done = await exchangeAgain(core, request, workspace, error).catch(() => null)
    if (done) return done
    if (done === undefined) await rollBack(core, request, { workspace, operation }, 'restore', error)
    throw error
  }
}

/**
 * Finishes what was begun; undefined if nothing was. Where files are changed one by one, a restore that cannot go on in
 * either direction ends as it is: all that was there is kept, and a workspace that waits for it for ever helps nobody.
 */
async function exchangeAgain(
  core: Core,
  request: Request,
  workspace: Workspace,
  first?: unknown,
): Promise<Done | undefined> {
  try {
    const frozen = await exchange(core, request, workspace, { resume: true })
    return frozen && { frozen }
  } catch (error) {
    const isGone = toAwError(error).code === 'storage_unavailable'
    if (isGone || core.storage.capabilities.restore !== 'in place') throw error
    return { frozen: recovered, problem: toAwError(first ?? error) }
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
      exclude: excludedPaths(workspace),
      since: since === null ? undefined : snapshotPlace(since),
      consistent: true,
      whole: asBytes(paths),
      signal: request.signal,
    })
    const staged = await stagePaths(core, request, workspace, paths)
    const resumed = await keepLateWrites(core, workspace, paths)
    return {
      frozen: { ...frozen, resumed },
      split: staged.flatMap(({ apart }) => apart),
      ...(await attempt(core, workspace, () => placePaths(core, workspace, staged))),
    }
  } catch (error) {
    if (!isFenced(error))
      await rollBack(core, request, { workspace, operation }, 'restore', error, () => unprepare(core, workspace))
    throw error
  }
}

const halfWay = (workspace: Workspace, cause: AwError, keep: SnapshotId): AwError =>
  new AwError(cause.code, `Not all of it could be restored: ${cause.message}`, {
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
    exclude: excludedPaths(workspace),
    maxBytes: kernelLimit(core, workspace),
    // From here on it is finished, whoever waits for it.
    signal: resume ? undefined : request.signal,
    resume: resume ? snapshotPlace(intent.resume) : undefined,
    onProgress: (done) => request.onProgress?.({ phase: 'restoring', ...done }),
  })
}

/** What the storage kept: the tree as it was, and as it was found by whoever finished an interrupted restore. */
async function keptBy(core: Core, workspace: Workspace, { resumed, ...frozen }: Exchanged): Promise<SnapshotFacts[]> {
  const { keep, resume, since } = intentOf(workspace, 'restore')
  const kept: SnapshotFacts[] = []
  // Nobody waits for a tree to be still that has to be kept as it is found.
  const found: Frozen = resumed ?? { ...recovered, consistency: core.storage.capabilities.live }
  for (const [snapshot, how] of [
    [keep, frozen],
    [resume, found],
  ] as const) {
    if (!(await core.storage.exists(snapshotPlace(snapshot)))) continue
    const plan = { snapshot, parent: since, branch: workspace.branch, label: null, meta: {}, key: null }
    kept.push(factsOf({ ...plan, reason: 'safety' }, how))
  }
  return kept
}

interface Outcome {
  readonly kept: SnapshotFacts[]
  readonly replaced: SnapshotId | null
  readonly problem?: AwError
}

async function finishRestore(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  { kept, replaced, problem: failed }: Outcome,
): Promise<Workspace> {
  const { snapshot, how, branch, paths, generation } = intentOf(workspace, 'restore')
  const isUnfinished = paths === null && failed !== undefined
  const left = await removeRestoredPlaceholders(core, workspace)
  const metadata = await refreshMetadata(core, workspace)
  const problem = failed === undefined ? (metadata ?? left) : { code: failed.code, message: failed.message }
  const data = {
    ...nameFields(workspace),
    workspace_path: workspace.path,
    snapshot,
    how,
    branch,
    paths: isUnfinished ? [] : paths,
    kept,
    replaced,
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
  const done: Done | undefined = await (intent.paths === null
    ? exchangeAgain(core, request, workspace)
    : redoPaths(core, request, workspace, intent.paths))
  if (done === undefined) {
    await unprepare(core, workspace)
    const reason = new Error('the process that restored it died before the tree was touched')
    return { workspace: await abandon(core, request, workspace, operation, 'restore', reason), outcome: 'undone' }
  }
  const kept = await keptBy(core, workspace, done.frozen)
  const replaced = kept[0]?.snapshot ?? intent.since
  const restored = await finishRestore(core, request, workspace, operation, { ...done, kept, replaced })
  return { workspace: restored, outcome: 'restored' }
}

/**
 * Paths can be put back again and again; the tree was untouched as long as it was not kept. What others have put there
 * since is kept first.
 */
async function redoPaths(
  core: Core,
  request: Request,
  workspace: Workspace,
  paths: string[],
): Promise<Done | undefined> {
  const { keep } = intentOf(workspace, 'restore')
  if (!(await core.storage.exists(snapshotPlace(keep)))) return undefined
  let resumed: Frozen | undefined
  const again = async (): Promise<void> => {
    resumed = await keepLateWrites(core, workspace, paths)
    await placePaths(core, workspace, await stagePaths(core, request, workspace, paths, { again: true }))
  }
  const tried = await attempt(core, workspace, again)
  return { frozen: { ...recovered, resumed }, ...tried }
}

/** What stands in the way is told; everything that was there is kept. */
async function attempt(core: Core, workspace: Workspace, place: () => Promise<void>): Promise<{ problem?: AwError }> {
  try {
    await place()
    return {}
  } catch (error) {
    await unstage(core, workspace)
    return { problem: toAwError(error) }
  }
}

const recovered: Frozen = { mechanism: 'recovered', consistency: 'atomic', changed: null }
