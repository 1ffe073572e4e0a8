import { AwError, toAwError } from '../../domain/errors.ts'
import { isWorkspaceId } from '../../domain/ids.ts'
import { allowedStates } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace, type WorkspaceStateName } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { volumeOf } from './places.ts'

/** The error of an operation, which names the workspace and the way back if its tree is what was missing. */
export async function explainMissingTree(core: Core, error: unknown): Promise<AwError> {
  const known = toAwError(error)
  const place = known.data['place'] as Place | undefined
  if (known.code !== 'workspace_not_found' || place?.area !== 'volumes' || !isWorkspaceId(place.name)) return known
  const workspace = await core.store.get(place.name)
  return workspace !== undefined && (await isTreeMissing(core, workspace)) ? missingTree(workspace) : known
}

/** Looked at twice: a tree that is being moved is elsewhere for a moment, and the log says so. */
export async function isTreeMissing(core: Core, { id }: Workspace): Promise<boolean> {
  for (let looks = 0; looks < 2; looks++) {
    const now = await core.store.get(id)
    if (now === undefined || now.operation !== null || !settled.includes(now.state)) return false
    if (await core.storage.exists(volumeOf(now))) return false
  }
  return true
}

const settled: readonly WorkspaceStateName[] = allowedStates.path

export function missingTree(workspace: Workspace): AwError {
  const name = nameOf(workspace)
  return new AwError('workspace_not_found', `The tree of ${name} was removed by something other than aw`, {
    hint:
      workspace.snapshots.all > 0
        ? `Make it anew from its last snapshot: aw recover ${name} && aw undelete ${name}`
        : `It has no snapshots. To free its name: aw recover ${name}`,
    data: { workspace: name, id: workspace.id, state: workspace.state },
  })
}
