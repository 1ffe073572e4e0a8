import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type Replaced, type Workspace } from '../../domain/workspace/state.ts'
import { assertUnused, type Risks } from '../kernel/activity.ts'
import { whatRuns } from '../sandboxes/commands.ts'
import type { Core, Request } from '../core.ts'
import { changesSince, differs, isBelow, stepsOf } from '../diff/differences.ts'
import { findWorkspace } from '../kernel/find.ts'
import { closeLostRuns } from '../recovery/boxes.ts'
import { endBoxes, restarted } from '../sandboxes/start.ts'
import { withWorkspace } from '../kernel/operations.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { assertOutsideMetadata, checkedPaths } from './restore-paths.ts'
import { restoreTo, type Plan } from './restore-tree.ts'
import { noHead, resolveSnapshot, snapshotsOf } from './snapshots.ts'

type Restored = Outputs['restore']

export async function restore(core: Core, input: Inputs['restore'], request: Request): Promise<Restored> {
  const paths = input.paths === undefined ? null : checkedPaths(input.paths)
  return underLock(core, input, request, async (workspace) => {
    if (paths !== null) assertOutsideMetadata(workspace, paths)
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

/**
 * Takes back what was done last: a restore, if the tree is as that left it; else to the head if the tree differs from it,
 * else to what the head grew from.
 */
export async function undo(core: Core, input: Inputs['undo'], request: Request): Promise<Restored> {
  return underLock(core, input, request, async (workspace) => {
    const { head, branch } = workspace
    const [last] = workspace.before
    const dirty = head !== null && (await differs(core, workspace, head))
    if (last && (last.paths !== null || !dirty)) return takenBack(core, workspace, last)
    const parent = head === null ? null : ((await snapshotsOf(core, workspace.id)).get(head)?.parent ?? null)
    const snapshot = dirty ? head : parent
    if (snapshot !== null) return { how: 'undo', snapshot, branch, paths: null }
    throw nothingToUndo(workspace)
  })
}

function nothingToUndo(workspace: Workspace): AwError {
  const name = nameOf(workspace)
  const { message, hint } =
    workspace.head === null
      ? noHead(workspace)
      : { message: `${name} is where it began`, hint: `Take snapshots as you go: aw snapshot ${name}` }
  return new AwError('nothing_to_undo', message, { ...(hint !== undefined && { hint }), data: { id: workspace.id } })
}

/** If only paths were restored, what was done elsewhere since stays. */
async function takenBack(core: Core, workspace: Workspace, { snapshot, branch, paths }: Replaced): Promise<Plan> {
  const whole = { how: 'undo', snapshot, branch, paths: null } as const
  if (paths === null || paths.length === 0) return whole
  for await (const change of changesSince(core, workspace, snapshot))
    if (stepsOf(change).some(([path]) => !isBelow(path, paths))) return { ...whole, paths: [...paths] }
  return whole
}

export async function redo(core: Core, input: Inputs['redo'], request: Request): Promise<Restored> {
  return underLock(core, input, request, async (workspace) => {
    const { head } = workspace
    const [last] = workspace.redo
    const dirty = head !== null && last !== undefined && (await differs(core, workspace, head))
    if (last !== undefined && !dirty) return { how: 'redo', ...last, paths: null }
    const name = nameOf(workspace)
    throw new AwError('nothing_to_redo', dirty ? `${name} was changed since the undo` : `${name} has nothing undone`, {
      hint: dirty
        ? `Restore it by name instead: aw restore ${name} ${last?.snapshot}`
        : `See its history: aw snapshots ${name}`,
      data: { id: workspace.id },
    })
  })
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
    const current = await closeLostRuns(core, request, workspace)
    const risks = { ...input, lease: request.lease, signal: request.signal }
    await assertUnused(
      core,
      current,
      input.restart === true ? { ...risks, include_active: true } : { ...risks, restart: false },
    )
    const plan = await planned(current)
    if (!(await core.storage.exists(snapshotPlace(plan.snapshot)))) throw gone(current, plan.snapshot)
    const running = await whatRuns(core, current)
    // A sandbox that runs would go on seeing the tree that is replaced.
    const quiet = await endBoxes(core, request, current, 'restore')
    // A run that has not begun goes on waiting.
    const ended = running !== undefined && (await whatRuns(core, quiet)) === undefined
    try {
      return { ...(await restoreWhenFree(core, request, quiet, plan, risks)), ended }
    } finally {
      const after = await core.store.get(id)
      if (after?.operation === null) await restarted(core, request, current, after)
    }
  })
}

/**
 * Where the kernel keeps a tree in its place as long as somebody uses it, whoever began to read files since it was seen
 * that nobody does is waited for too.
 */
async function restoreWhenFree(
  core: Core,
  request: Request,
  workspace: Workspace,
  plan: Plan,
  risks: Risks,
): Promise<Omit<Restored, 'ended'>> {
  const isFinal = core.storage.isIdle === undefined || risks.force === true || risks.include_active === true
  let current = workspace
  for (let attempt = 1; ; attempt++) {
    try {
      return await restoreTo(core, request, current, plan)
    } catch (error) {
      const after = await core.store.get(workspace.id)
      const isOver = isFinal || attempt === 3 || toAwError(error).code !== 'workspace_active'
      if (isOver || after === undefined || after.operation !== null) throw error
      await assertUnused(core, after, risks)
      current = after
    }
  }
}

const gone = (workspace: Workspace, snapshot: SnapshotId): AwError =>
  new AwError('snapshot_not_found', `The snapshot ${snapshot} is not on disk any more`, {
    hint: 'Something other than aw removed it; aw recover brings the log up to date',
    data: { id: workspace.id, snapshot },
  })
