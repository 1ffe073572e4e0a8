import type { Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import { assertUnused, type Risks } from '../kernel/activity.ts'
import { describeRunning } from '../sandboxes/commands.ts'
import type { Core, Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { closeLostRuns } from '../recovery/boxes.ts'
import { restarted } from '../sandboxes/start.ts'
import { endBoxes } from '../sandboxes/stop.ts'
import { withWorkspace } from '../kernel/operations.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { restoreTo, type Plan } from './restore-tree.ts'

type Restored = Outputs['restore']

/** Ends what runs around a workspace and restores what `planned` says, under its lock. */
export async function restoreWorkspace(
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
    const running = await describeRunning(core, current)
    // A sandbox that runs would go on seeing the tree that is replaced.
    const quiet = await endBoxes(core, request, current, 'restore')
    // A run that has not begun goes on waiting.
    const ended = running !== undefined && (await describeRunning(core, quiet)) === undefined
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
