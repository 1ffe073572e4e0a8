import { join } from 'node:path'
import type { ArchiveStore } from '../../ports/archive-store.ts'

const loaded = () => import('./archive/store.ts')

/** Files in a directory of this machine. */
export const dirArchiveStore = (directory: string): ArchiveStore => ({
  pathOf: (name) => join(directory, name),
  prepare: async (options) => (await loaded()).prepareArchiveDirectory(directory, options),
  has: async (path) => (await loaded()).archiveExists(path),
  pack: async (tree, path, options) => (await loaded()).storeArchive(tree, path, options),
  undo: async (path, stage) => (await loaded()).discardArchive(path, stage),
  remove: async (path, made) => (await loaded()).removeStoredArchive(path, made),
})
