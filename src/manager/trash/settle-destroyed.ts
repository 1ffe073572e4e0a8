import type { Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { erasingOf, trashOf, volumeOf } from '../kernel/places.ts'

/**
 * A destroy does not wait until its move is on the disk. After a power cut the tree may be where it was, and its link too;
 * then both go again. Needs the lock. Safe to repeat.
 */
export async function settleDestroyed(core: Core, workspace: Workspace): Promise<void> {
  const tree = workspace.trash.findLast(({ reason }) => reason !== 'reset')?.tree
  if (workspace.state !== 'trashed' || tree === undefined) return
  const volume = volumeOf(workspace)
  await core.host.unpublish(workspace.path, core.storage.attachment(volume).path, core.basePath)
  const isThere = (await core.storage.exists(trashOf(tree))) || (await core.storage.exists(erasingOf(tree)))
  if (!isThere && (await core.storage.exists(volume))) await core.storage.move(volume, trashOf(tree))
}
