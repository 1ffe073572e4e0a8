import { toAwError } from '../../domain/errors.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { ContentFolder, Place, ReadOptions } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'

/** A tree, and the workspace through which it is known. */
export interface KnownTree {
  readonly workspace: Workspace
  readonly place: Place
  /** Where to look for contents that it does not have itself. */
  readonly contents?: (() => Promise<ContentFolder | undefined>) | undefined
}

/** A file of it, with the content that it was listed with. */
export async function readKnownFile(
  core: Core,
  { place, contents }: KnownTree,
  path: string,
  options: Pick<ReadOptions, 'maxBytes'>,
): Promise<Buffer> {
  try {
    return await core.storage.read(place, path, options)
  } catch (error) {
    const beside = toAwError(error).data['reason'] === 'not_kept' ? await contents?.() : undefined
    if (beside === undefined) throw error
    return core.storage.read(place, path, { ...options, beside })
  }
}
