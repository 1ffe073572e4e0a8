import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import { hasOtherMeaning, labelFrom } from '../../domain/workspace/snapshot-names.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { Intents, SnapshotFacts } from '../../domain/workspace/events.ts'
import { makeRoom, type Snapshot } from '../../domain/workspace/snapshots.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { newEvent, newId, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { reportedPaths } from './omissions.ts'
import {
  abandon,
  append,
  begin,
  intentFlushed,
  isFenced,
  nameFields,
  rollBack,
  withWorkspace,
} from '../kernel/operations.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'
import { removeSnapshots } from './snapshot-remove.ts'
import { assertRoom } from '../space/size-limit.ts'
import { excludedPaths, forksOf, neededIds, snapshotsOf } from './lookup.ts'
import { whileQuiesced, type QuiescedTree } from './quiesce.ts'
import { snapshotView } from '../kernel/view.ts'

export async function snapshot(core: Core, input: Inputs['snapshot'], request: Request): Promise<Outputs['snapshot']> {
  const { id } = await findWorkspace(core, input.id)
  const plan = {
    label: labelOf(input),
    meta: input.meta ?? {},
    key: keyOf(input),
    reason: input.auto === true ? ('auto' as const) : ('user' as const),
  }
  return withWorkspace(core, request, id, async (found) => {
    assertAllowed(found, 'snapshot')
    const earlier = plan.key === null ? undefined : await withKey(core, found, plan.key)
    if (earlier !== undefined) return { ...snapshotView(earlier, found), created: false }
    const made = await keepSnapshot(core, request, found, plan, { consistent: input.consistent })
    return { ...snapshotView(made.snapshot, made.workspace), created: true }
  })
}

/** An empty one is a variable that was not set: all snapshots would be the first. */
function keyOf({ key }: Inputs['snapshot']): string | null {
  if (key === undefined) return null
  if (key.trim() !== '' && key.length <= longestKey) return key
  throw new AwError('invalid_input', key.trim() === '' ? 'The key is empty' : 'The key is too long', {
    hint: `Give a text of 1 to ${longestKey} characters that no other snapshot has, or leave it out`,
    data: { field: 'key' },
  })
}

const longestKey = 200

/** Takes one, if there is room for it or room can be made. Needs the lock. */
export async function keepSnapshot(
  core: Core,
  request: Request,
  workspace: Workspace,
  plan: Plan,
  options: { consistent?: boolean | undefined } = {},
): Promise<{ workspace: Workspace; snapshot: Snapshot }> {
  const spare = await spareSnapshots(core, workspace)
  const made = await takeSnapshot(core, request, workspace, plan, { ...options, limited: true })
  const after = spare.length === 0 ? made.workspace : await removeSpare(core, request, made.workspace, spare)
  return { workspace: after, snapshot: await asKept(core, made.snapshot, spare) }
}

/** Nothing goes before the new one is in the log. What cannot go now goes with the next: that one is not hindered. */
const removeSpare = (
  core: Core,
  request: Request,
  workspace: Workspace,
  ids: readonly SnapshotId[],
): Promise<Workspace> =>
  removeSnapshots(core, request, workspace, ids, 'limit').catch((error: unknown) => {
    if (isFenced(error) || toAwError(error).code === 'internal') throw error
    return workspace
  })

/** If its parent made room, it grows from another. */
const asKept = async (core: Core, made: Snapshot, gone: readonly SnapshotId[]): Promise<Snapshot> =>
  made.parent !== null && gone.includes(made.parent)
    ? ((await snapshotsOf(core, made.workspace)).get(made.snapshot) ?? made)
    : made

function labelOf({ label, message }: Inputs['snapshot']): string | null {
  if (label === undefined) return message === undefined ? null : labelFrom(message)
  if (message === undefined) return checkedLabel(label)
  throw new AwError('invalid_input', 'Both a label and a message to take it from were given', {
    hint: 'Give label or message, not both',
    data: { field: 'message' },
  })
}

/** A label is what it is found by: it is kept as it was given, or refused. */
export function checkedLabel(label: string): string {
  if (label === labelFrom(label)) return label
  if (hasOtherMeaning(label)) {
    throw new AwError('invalid_input', `${JSON.stringify(label)} cannot be a label: it means a snapshot already`, {
      hint: 'Choose another than head, base and snap_…',
      data: { field: 'label' },
    })
  }
  throw new AwError('invalid_input', 'A label is one line of 1 to 120 characters that can be shown', {
    hint: 'Use --message to make a label from any text',
    data: { field: 'label' },
  })
}

export const withKey = async (core: Core, workspace: Workspace, key: string): Promise<Snapshot | undefined> =>
  [...(await snapshotsOf(core, workspace.id)).values()].find((one) => one.key === key)

/**
 * Which automatic snapshots go for a new one. Those that somebody asked for do not: then the caller has to choose. The
 * head may be among them, for the new one takes its place.
 */
async function spareSnapshots(core: Core, workspace: Workspace): Promise<SnapshotId[]> {
  const limit = core.config.settings['snapshots.max']
  if (limit === 0 || workspace.snapshots.counted < limit) return []
  const all = [...(await snapshotsOf(core, workspace.id)).values()]
  const branches = { ...workspace.branches, [workspace.branch]: null }
  const needed = neededIds({ ...workspace, head: null, branches })
  for (const { snapshot: id } of all) if ((await forksOf(core, id)).length > 0) needed.add(id)
  const ids = makeRoom(all, limit, needed)
  if (ids !== undefined) return ids
  const name = nameOf(workspace)
  const { counted } = workspace.snapshots
  throw new AwError(
    'snapshot_limit',
    `${name} has ${counted} snapshots and may have ${limit}, and none may go by itself: ${whyNone(all)}`,
    {
      hint: `Remove one (aw snapshot remove ${name} SNAPSHOT), or raise snapshots.max`,
      data: { id: workspace.id, limit, count: counted },
    },
  )
}

function whyNone(all: readonly Snapshot[]): string {
  const automatic = all.filter(({ reason }) => reason === 'auto')
  const asked = all.filter(({ reason }) => reason === 'user').length
  const labelled = automatic.filter(({ label }) => label !== null).length
  const used = automatic.length - labelled
  return [
    ...(asked > 0 ? [`${asked} were asked for`] : []),
    ...(labelled > 0 ? [`${labelled} automatic with a label`] : []),
    ...(used > 0 ? [`${used} automatic needed by a branch, a fork or redo`] : []),
  ].join(', ')
}

type Plan = Pick<SnapshotFacts, 'label' | 'meta' | 'key' | 'reason'>

interface Taking {
  readonly consistent?: boolean | undefined
  /** Not of a workspace that is over its limit. Looked at when all that it holds is on the disk anyway. */
  readonly limited?: boolean | undefined
}

/** Freezes the tree and puts the snapshot into the history. Needs the lock. */
export async function takeSnapshot(
  core: Core,
  request: Request,
  workspace: Workspace,
  plan: Plan,
  options: Taking = {},
): Promise<{ workspace: Workspace; snapshot: Snapshot }> {
  const facts = {
    snapshot: newId(core, 'snap'),
    parent: workspace.head,
    branch: workspace.branch,
    ...plan,
  }
  const intent = { ...nameFields(workspace), ...facts }
  const started = await begin(core, request, workspace, 'snapshot_started', 'snapshot', intent, { later: true })
  const place = snapshotPlace(facts.snapshot)
  try {
    const frozen = await whileQuiesced(core, workspace, options.consistent === true, (consistent) =>
      core.storage.snapshot(volumeOf(workspace), place, {
        exclude: excludedPaths(workspace),
        since: workspace.head === null ? undefined : snapshotPlace(workspace.head),
        consistent,
        after: intentFlushed(core),
        signal: request.signal,
        onProgress: (done) => request.onProgress?.({ phase: 'keeping', ...done }),
      }),
    )
    if (options.limited === true) await assertRoom(core, workspace)
    const shown = factsOf(facts, frozen)
    const data = { ...nameFields(workspace), ...shown }
    const event = newEvent(core, request, 'snapshot_created', data, started.operation)
    const after = await append(core, request, started.workspace, [event])
    const about = { workspace: workspace.id, author: request.actor, at: event.at }
    return { workspace: after, snapshot: { ...shown, ...about } }
  } catch (error) {
    if (isFenced(error)) throw error
    await rollBack(core, request, started, 'snapshot', error, () => core.storage.erase(place))
    throw error
  }
}

export const factsOf = (
  plan: Plan & { snapshot: SnapshotId; parent: SnapshotId | null; branch: string },
  { mechanism, consistency, changed, left_out: left, passing }: QuiescedTree,
): SnapshotFacts => ({
  ...plan,
  // What is not in it is told by it as long as it is there.
  meta: left === undefined ? plan.meta : { ...plan.meta, left_out: reportedPaths(left) },
  mechanism,
  consistency,
  files_changed: changed,
  ...(passing !== undefined && { passing }),
})

/** Nobody was told of it: it goes. */
export async function undoSnapshot(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  { snapshot: id }: Intents['snapshot'],
): Promise<Workspace> {
  await core.storage.erase(snapshotPlace(id))
  const reason = new Error('the process that made the snapshot died before it was finished')
  return abandon(core, request, workspace, operation, 'snapshot', reason)
}
