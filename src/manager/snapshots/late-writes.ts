import { AwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Frozen } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { isBelow, stepsOf } from '../diff/differences.ts'
import { intentOf } from '../kernel/operations.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'
import { asBytes } from './restore-paths.ts'
import { excluded } from './lookup.ts'

/** Before paths are replaced: what came to them after they were kept is kept too, beside that. Answers how, if it did. */
export async function keepLater(core: Core, workspace: Workspace, paths: string[]): Promise<Frozen | undefined> {
  const { keep, resume } = intentOf(workspace, 'restore')
  if (!(await hasWork(core, workspace, paths, keep))) return undefined
  if (!(await core.storage.exists(snapshotPlace(resume))))
    return core.storage.snapshot(volumeOf(workspace), snapshotPlace(resume), {
      exclude: excluded(workspace),
      whole: asBytes(paths),
    })
  if (await hasWork(core, workspace, paths, resume))
    throw new AwError('workspace_active', 'The tree was changed again while the restore was interrupted', {
      data: { id: workspace.id },
    })
  return undefined
}

/** Whether the paths hold something that is neither in a snapshot of them nor in the one they are restored from. */
async function hasWork(core: Core, workspace: Workspace, paths: string[], kept: SnapshotId): Promise<boolean> {
  const fromKept = await cameSince(core, workspace, paths, kept)
  if (fromKept.size === 0) return false
  const fromTarget = await cameSince(core, workspace, paths, intentOf(workspace, 'restore').snapshot)
  return [...fromKept].some((path) => fromTarget.has(path))
}

async function cameSince(core: Core, workspace: Workspace, paths: string[], since: SnapshotId): Promise<Set<string>> {
  const came = new Set<string>()
  const options = { exclude: excluded(workspace), renames: false }
  for await (const change of core.storage.diff(snapshotPlace(since), volumeOf(workspace), options))
    for (const [path, kind] of stepsOf(change)) if (kind !== 'removed' && isBelow(path, paths)) came.add(path)
  return came
}
