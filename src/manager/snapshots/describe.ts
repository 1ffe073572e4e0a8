import type { Inputs, Outputs } from '../../api/table.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { countChangesSinceBaseline, isBaselineUnavailable } from '../diff/baseline.ts'
import { countChangesFrom } from '../diff/differences.ts'
import { findWorkspace } from '../kernel/find.ts'
import { snapshotAt } from './lookup.ts'

export async function describe(core: Core, input: Inputs['describe'], request: Request): Promise<Outputs['describe']> {
  const workspace = await findWorkspace(core, input.id)
  assertAllowed(workspace, 'path')
  const head = await snapshotAt(core, workspace, workspace.head)
  // Without a snapshot everything is yet to be kept.
  const changes =
    workspace.head === null
      ? await changesOfAll(core, request, workspace)
      : await countChangesFrom(core, workspace, workspace.head)
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
    return await countChangesSinceBaseline(core, request, workspace)
  } catch (error) {
    if (isBaselineUnavailable(error)) return 0
    throw error
  }
}
