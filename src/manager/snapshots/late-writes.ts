import { AwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Frozen } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { isBelow, pathChanges } from '../diff/differences.ts'
import { intentOf } from '../kernel/operations.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'
import { asBytes } from './restore-paths.ts'
import { excludedPaths } from './lookup.ts'

/** Before paths are replaced: what came to them after they were kept is kept too, beside that. Answers how, if it did. */
export async function keepLateWrites(core: Core, workspace: Workspace, paths: string[]): Promise<Frozen | undefined> {
  const { keep, resume } = intentOf(workspace, 'restore')
  if (!(await hasUnsavedChanges(core, workspace, paths, keep))) return undefined
  if (!(await core.storage.exists(snapshotPlace(resume))))
    return core.storage.snapshot(volumeOf(workspace), snapshotPlace(resume), {
      exclude: excludedPaths(workspace),
      whole: asBytes(paths),
    })
  if (await hasUnsavedChanges(core, workspace, paths, resume))
    throw new AwError('workspace_active', 'The tree was changed again while the restore was interrupted', {
      data: { id: workspace.id },
    })
  return undefined
}

/** Whether the paths hold something that is neither in a snapshot of them nor in the one they are restored from. */
async function hasUnsavedChanges(
  core: Core,
  workspace: Workspace,
  paths: string[],
  kept: SnapshotId,
): Promise<boolean> {
  const fromKept = await addedSince(core, workspace, paths, kept)
  if (fromKept.size === 0) return false
  const fromTarget = await addedSince(core, workspace, paths, intentOf(workspace, 'restore').snapshot)
  return [...fromKept].some((path) => fromTarget.has(path))
}

async function addedSince(core: Core, workspace: Workspace, paths: string[], since: SnapshotId): Promise<Set<string>> {
  const came = new Set<string>()
  const options = { exclude: excludedPaths(workspace), renames: false }
  for await (const change of core.storage.diff(snapshotPlace(since), volumeOf(workspace), options))
    for (const [path, kind] of pathChanges(change)) if (kind !== 'removed' && isBelow(path, paths)) came.add(path)
  return came
}
