import { AwError, toAwError } from '../../domain/errors.ts'
import {
  dueReason,
  type PlannedReclaim,
  type ReclaimPlan,
  type RetentionPolicy,
  trashCutoff,
} from '../../domain/space/retention.ts'
import { bytesAbove } from '../../domain/space/watermarks.ts'
import type { TrashedTree, Workspace } from '../../domain/workspace/state.ts'
import { assertTreesUnused } from '../kernel/activity.ts'
import { archiveTree, needsArchive } from '../trash/archive-tree.ts'
import { eraseBase, usersOf } from '../sources/base-trees.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { destroyUnderLock } from '../trash/destroy.ts'
import { workspaceHoldReason } from './gc-hold-reasons.ts'
import { gcSnapshots } from './gc-snapshots.ts'
import { type GcCandidate, type GcCandidateOf, ownerName, templateBases, workspaceCandidate } from './gc-candidates.ts'
import { append, checkpointSignal, nameFields, withWorkspace } from '../kernel/operations.ts'
import { usedBases } from '../sources/own-base.ts'
import { trashOf } from '../kernel/places.ts'
import { spaceOf } from './pressure.ts'
import { purgeTrees } from '../trash/purge.ts'
import { removeLeftovers } from '../recovery/reconcile.ts'
import { purgeShared } from '../shared/shared-trash.ts'

/** What went, or could not. */
export interface Item {
  readonly thing: GcCandidate
  readonly action: 'erase' | 'trash'
  readonly reason: string
  readonly bytes: number
  readonly archive: string | null
  readonly error: string | null
}

export interface Done {
  readonly items: readonly Item[]
  /** What was planned, and was found to be needed when its turn came. */
  readonly left: readonly { readonly thing: GcCandidate; readonly why: string }[]
}

/** What became of one: gone, with the file that was made of it; or why it stays; or nothing, since it is not there. */
type ReclaimOutcome = { readonly archive: string | null } | { readonly stays: string } | undefined

const gone: ReclaimOutcome = { archive: null }

type Planning = PlannedReclaim<GcCandidate>

/** One after the other. When the caller goes, what was begun is brought to its end and the rest stays. */
export async function applyPlan(
  core: Core,
  request: Request,
  { goes }: ReclaimPlan<GcCandidate>,
  policy: RetentionPolicy,
): Promise<Done> {
  const done: Doing = { items: [], left: [] }
  const due = goes.filter(({ pressed }) => !pressed)
  const early: readonly string[] = ['leftover', 'base', 'cache', 'damaged', 'tree']
  try {
    await reclaimAll(
      core,
      request,
      due.filter(({ thing }) => early.includes(thing.kind)),
      policy,
      done,
    )
    // After the trees: with the last of a workspace its snapshots may be spare as well.
    done.items.push(...(await reclaimSnapshots(core, request, policy)))
    await reclaimAll(
      core,
      request,
      due.filter(({ thing }) => !early.includes(thing.kind)),
      policy,
      done,
    )
    await reclaimAll(
      core,
      request,
      goes.filter(({ pressed }) => pressed),
      policy,
      done,
    )
    return done
  } catch (error) {
    throw request.signal?.aborted ? stopped(error, done.items.length, goes.length) : error
  }
}

type Doing = { -readonly [K in keyof Done]: Done[K][number][] }

async function reclaimAll(
  core: Core,
  request: Request,
  planned: readonly Planning[],
  policy: RetentionPolicy,
  done: Doing,
): Promise<void> {
  for (const one of planned) {
    checkpointSignal(request)
    if (one.pressed && (await hasEnoughSpace(core, policy))) return
    request.onProgress?.({ phase: `${one.action === 'erase' ? 'erasing' : 'moving'} ${nameOf(one.thing)}` })
    await reclaim(core, request, one, policy, done)
  }
}

async function reclaimSnapshots(core: Core, request: Request, policy: RetentionPolicy): Promise<Item[]> {
  const went = await gcSnapshots(core, request, trashCutoff(policy), false)
  return went.map(({ snapshot, workspace, reason, bytes, error }) => ({
    thing: { kind: 'snapshot', name: snapshot, since: policy.now, workspace, bytes },
    action: 'erase',
    reason,
    bytes,
    archive: null,
    error,
  }))
}

const stopped = (cause: unknown, done: number, planned: number): AwError =>
  new AwError('aborted', `Stopped: ${done} of ${planned} things are gone, the others stay`, {
    hint: 'Go on with: aw gc',
    data: { done, planned },
    cause,
  })

const nameOf = (candidate: GcCandidate): string => ownerName(candidate) ?? candidate.name

/** Another process may have made room, or what went gave back more than it seemed. */
async function hasEnoughSpace(core: Core, { marks }: RetentionPolicy): Promise<boolean> {
  return marks === null || bytesAbove(await spaceOf(core), marks.low) <= 0
}

async function reclaim(
  core: Core,
  request: Request,
  one: Planning,
  policy: RetentionPolicy,
  done: Doing,
): Promise<void> {
  const { thing, action, why: reason, bytes } = one
  const item = { thing, action, reason, bytes, archive: null, error: null }
  try {
    const fate = await reclaimOne(core, request, one, policy)
    if (fate === undefined) return
    if ('stays' in fate) done.left.push({ thing, why: fate.stays })
    else done.items.push({ ...item, archive: fate.archive })
  } catch (error) {
    const { code, message, hint } = toAwError(error)
    if (code === 'aborted' || code === 'storage_unavailable') throw error
    if (code === 'workspace_active' || code === 'workspace_busy') done.left.push({ thing, why: message })
    else done.items.push({ ...item, error: hint === undefined ? message : `${message}. ${hint}` })
  }
}

async function reclaimOne(
  core: Core,
  request: Request,
  one: Planning,
  policy: RetentionPolicy,
): Promise<ReclaimOutcome> {
  const { thing } = one
  switch (thing.kind) {
    case 'leftover': {
      const names = await removeLeftovers(core, request, [thing.place])
      return names.includes(thing.name) ? gone : undefined
    }
    case 'base':
      return reclaimBase(core, request, thing)
    case 'cache':
      return reclaimCache(core, thing)
    case 'damaged':
      await core.storage.damaged?.erase(thing.name)
      return gone
    case 'tree':
      return reclaimTree(core, request, thing)
    case 'archive':
      return reclaimArchive(core, request, thing)
    case 'workspace':
      return reclaimWorkspace(core, request, { ...one, thing }, policy)
    default:
      // Snapshots go by workspace, all at once.
      return undefined
  }
}

async function reclaimBase(
  core: Core,
  request: Request,
  { name, base }: GcCandidateOf<'base'>,
): Promise<ReclaimOutcome> {
  using lock = await core.host.lock(`base-${base.group}`, { timeoutMs: 0, signal: request.signal })
  if (lock === undefined) return { stays: 'it is being used right now' }
  const users = await usersOf(core, name)
  if (users.length > 0) return { stays: `${users[0]} began as it` }
  if (usedBases(await core.store.list()).has(name)) return { stays: 'a workspace is being made with it' }
  if ((await templateBases(core)).has(name)) return { stays: 'it is a template' }
  await eraseBase(core, request, name, 'unneeded')
  return gone
}

async function reclaimCache(core: Core, { name, since }: GcCandidateOf<'cache'>): Promise<ReclaimOutcome> {
  const now = (await core.repositories.list()).find((cache) => cache.name === name)
  if (now === undefined) return undefined
  if (now.used_at > since) return { stays: 'it was used a moment ago' }
  await core.repositories.remove(name)
  return gone
}

/** What was undeleted or erased since is left alone: only what is still there under the lock goes. */
async function reclaimTree(
  core: Core,
  request: Request,
  { name: tree, since, workspace: owner }: GcCandidateOf<'tree'>,
): Promise<ReclaimOutcome> {
  if (owner === null) return reclaimShared(core, request, tree)
  return withWorkspace(core, request, owner.id, async (found) => {
    // A tree that was brought back and destroyed again since has the same name, and all its time before it.
    const entry = found.trash.find((one) => one.tree === tree && one.at === since)
    if (entry === undefined) return undefined
    await assertTreesUnused(core, { ...found, trash: [entry] }, {})
    const workspace = needsArchive(core, found, entry) ? await archiveTree(core, request, found, tree) : found
    await purgeTrees(core, request, workspace, [tree])
    return { archive: archiveOf(workspace, entry) }
  })
}

const archiveOf = ({ archives = [] }: Workspace, { tree, at }: TrashedTree): string | null =>
  archives.findLast((made) => made.tree === tree && made.at >= at)?.path ?? null

async function reclaimShared(core: Core, request: Request, tree: string): Promise<ReclaimOutcome> {
  const users = await core.host.users(core.storage.attachment(trashOf(tree)).path, { mounted: true })
  if (users.length > 0) return { stays: `${users[0]?.command} (${users[0]?.pid}) still works in it` }
  await purgeShared(core, request, tree)
  return gone
}

const keepReasons = {
  changed: 'it is not the file that aw wrote any more',
  unreachable: 'its directory is not there now',
} as const

async function reclaimArchive(
  core: Core,
  request: Request,
  { name: path, workspace: owner, bytes, digest }: GcCandidateOf<'archive'>,
): Promise<ReclaimOutcome> {
  if (owner === null) return undefined
  return withWorkspace(core, request, owner.id, async (workspace) => {
    if (!(workspace.archives ?? []).some((made) => made.path === path)) return undefined
    const outcome = await core.archiveStore.remove(path, { bytes, digest })
    if (outcome === 'changed' || outcome === 'unreachable') return { stays: keepReasons[outcome] }
    await append(core, request, workspace, [
      newEvent(core, request, 'workspace_archive_removed', { ...nameFields(workspace), path }),
    ])
    return outcome === 'removed' ? gone : undefined
  })
}

/** Only to the trash. What was used since, or is wanted by somebody now, stays. */
async function reclaimWorkspace(
  core: Core,
  request: Request,
  { thing: planned, pressed }: Planning & { readonly thing: GcCandidateOf<'workspace'> },
  policy: RetentionPolicy,
): Promise<ReclaimOutcome> {
  return withWorkspace(core, request, planned.workspace.id, async (workspace) => {
    const now = await workspaceCandidate(core, workspace)
    const isStill = pressed ? now.since === planned.since : dueReason(now, policy) !== undefined
    if (!isStill) return { stays: 'it was used a moment ago' }
    const holder = await workspaceHoldReason(core, workspace)
    if (holder !== undefined) return { stays: holder }
    await destroyUnderLock(core, { id: workspace.id, reason: 'retention' }, workspace, request)
    return gone
  })
}
