import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { assertOutsideMetadata, checkedPaths } from './restore-paths.ts'
import { resolveSnapshot } from './lookup.ts'
import { restoreWorkspace } from './restore-workspace.ts'

export async function restore(core: Core, input: Inputs['restore'], request: Request): Promise<Outputs['restore']> {
  const paths = input.paths === undefined ? null : checkedPaths(input.paths)
  return restoreWorkspace(core, input, request, async (workspace) => {
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
