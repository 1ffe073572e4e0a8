import type { WorkspaceId } from '../../domain/ids.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Core, OperationRef } from '../core.ts'

export const volumeOf = (workspace: { id: string }): Place => ({ area: 'volumes', name: workspace.id })
export const stageOf = (operation: OperationRef): Place => ({ area: 'tmp', name: operation.id })
export const trashOf = (tree: string): Place => ({ area: 'trash', name: tree })

/** What is being erased. It has a name of its own, so that half of a tree can never come back as if it were whole. */
export const erasingOf = (tree: string): Place => ({ area: 'trash', name: `${tree}.erasing` })

/** The directory in the trash that a workspace's present tree would get. */
export const treeName = (workspace: Workspace): string => `${workspace.id}.${workspace.generation}`

/** The workspace whose tree it was. */
export const originOfTree = (tree: string): WorkspaceId => tree.slice(0, tree.lastIndexOf('.')) as WorkspaceId

/** Where users find a workspace. */
export const pathOf = (core: Core, name: { task: string; agent: string }): string =>
  `${core.basePath}/${name.task}/${name.agent}`

export const snapshotPlace = (id: string): Place => ({ area: 'snapshots', name: id })

/** One after the other; those of one area become durable together. Absent = done. */
export async function eraseAll(core: Core, places: readonly Place[]): Promise<void> {
  for (const [index, place] of places.entries())
    await core.storage.erase(place, { more: places[index + 1]?.area === place.area })
}
