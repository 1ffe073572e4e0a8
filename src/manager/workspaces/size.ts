import type { Workspace } from '../../domain/workspace/state.ts'
import { trashOf, volumeOf } from '../kernel/places.ts'
import type { WorkspaceView } from '../kernel/view.ts'
import type { MeasureTree } from '../space/measure.ts'

/** The size of a workspace's tree, or of its last one in the trash. */
export async function sizeOf(
  workspace: Workspace,
  ruler: MeasureTree,
): Promise<Pick<WorkspaceView, 'size_bytes' | 'size_complete'>> {
  const tree = workspace.trash.at(-1)
  const place = workspace.state === 'trashed' && tree !== undefined ? trashOf(tree.tree) : volumeOf(workspace)
  try {
    const measured = await ruler(place)
    return { size_bytes: measured?.bytes ?? null, size_complete: measured?.complete ?? false }
  } catch {
    // What is known of it is told, also when its tree is out of reach.
    return { size_bytes: null, size_complete: false }
  }
}
