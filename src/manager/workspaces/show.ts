import type { Inputs } from '../../api/table.ts'
import { isLive, type Workspace } from '../../domain/workspace/state.ts'
import { leaseOf } from '../access/lease.ts'
import type { Core, Request } from '../core.ts'
import { findToShow } from '../kernel/find.ts'
import type { WorkspaceView } from '../kernel/view.ts'
import { viewWithLineage } from '../snapshots/lineage.ts'
import { boundedMeasure, listBounds } from '../space/measure.ts'
import { gradeOf } from '../space/size-limit.ts'
import { sizeOf } from './size.ts'

/** Only looks: it waits for no lock and recovers nothing. */
export async function show(core: Core, input: Inputs['show'], request: Request): Promise<WorkspaceView> {
  const workspace = await findToShow(core, input.id)
  const known = {
    ...(await viewWithLineage(core, workspace)),
    ...(await limited(core, workspace)),
    ...(await used(core, workspace)),
  }
  return input.sizes === true
    ? { ...known, ...(await sizeOf(workspace, boundedMeasure(core, request, 1, listBounds))) }
    : known
}

async function used(core: Core, workspace: Workspace): Promise<Pick<WorkspaceView, 'lease'>> {
  return isLive(workspace.state) ? { lease: await leaseOf(core, workspace) } : {}
}

async function limited(core: Core, workspace: Workspace): Promise<Pick<WorkspaceView, 'size_limit'>> {
  if (!isLive(workspace.state)) return {}
  return { size_limit: { mb: workspace.config.max_size_mb, grade: await gradeOf(core, workspace) } }
}
