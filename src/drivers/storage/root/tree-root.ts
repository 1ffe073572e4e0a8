import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import type { Area, Free, Place, Reached } from '../../../ports/storage-driver.ts'
import { indexDirectory } from '../../../sys/trees/folder-index.ts'
import { assertRoot, freeIn, initRoot, listAreas, treeExists } from './root.ts'

/** What drivers share whose trees are directories of one storage root. */

export interface TreeRootOptions {
  readonly root: string
  /** A file of the home that ties the root to it; see `initRoot`. */
  readonly claim: string
  /** Directories of aw that are no source, besides the root itself: a file right in one is never opened. */
  readonly guarded?: readonly string[] | undefined
  /** The program does one thing and ends: it does without what takes long to load. */
  readonly shortLived?: boolean | undefined
  /** Whom new trees belong to, as user and group; only root can give them away. */
  readonly owner?: number | undefined
  /** How long to wait for others who look into a tree while none of them gets on; 10 s. */
  readonly patienceMs?: number | undefined
}

export interface TreeRoot {
  readonly root: string
  /** What is no source: all directories of aw's own. */
  readonly guarded: readonly string[]
  readonly path: (place: Place) => string
  /** Throws if the root is not there, or not ours: before everything that is done. */
  readonly assert: () => void
  readonly exists: (place: Place) => boolean
  /** The path of a tree that is there. */
  readonly found: (place: Place) => string
  readonly assertFree: (place: Place) => void
  readonly list: () => Place[]
  readonly free: () => Free
}

export const areas: readonly Area[] = ['volumes', 'snapshots', 'bases', 'trash', 'tmp']

/** @param own directories beside the areas, for the driver alone */
export function treeRoot({ root, claim, guarded = [] }: TreeRootOptions, own: readonly string[] = []): TreeRoot {
  const directories = [...areas, indexDirectory, ...own]
  const key = initRoot(root, directories, claim)
  const path = (place: Place): string => join(root, place.area, place.name)
  const assert = (): void => assertRoot(root, key)
  const exists = (place: Place): boolean => treeExists(path(place))
  return {
    root,
    guarded: [...guarded, root, ...directories.map((name) => join(root, name))],
    path,
    assert,
    exists,
    found(place) {
      if (exists(place)) return path(place)
      throw treeMissing(place)
    },
    assertFree(place) {
      if (exists(place)) throw placeTaken(place)
    },
    list: () => listAreas(root, areas) as Place[],
    free: () => freeIn(root),
  }
}

/** Everybody finds it there, and it needs no end. */
export const reachedOnHost = (path: string): Reached => ({ path, [Symbol.dispose]: () => undefined })

export const isFrozen = ({ area }: Place): boolean => area === 'snapshots' || area === 'bases'

export const limitsUnsupported = (name: string): AwError =>
  new AwError('unsupported', `The kernel cannot limit trees of the storage driver ${name}`, {
    hint: 'Leave the limit out, or use the driver btrfs',
  })

export const treeMissing = (place: Place): AwError =>
  new AwError(
    isFrozen(place) ? 'snapshot_not_found' : 'workspace_not_found',
    `There is no tree at ${place.area}/${place.name}`,
    {
      ...(isFrozen(place) && { hint: 'Something other than aw removed it; aw recover brings the log up to date' }),
      data: { place },
    },
  )

export const placeTaken = (place: Place): AwError =>
  new AwError('file_exists', `There is already a tree at ${place.area}/${place.name}`, {
    hint: 'Run: aw recover',
    data: { place },
  })
