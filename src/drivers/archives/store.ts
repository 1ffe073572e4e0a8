import { join } from 'node:path'
import type { Shelf } from '../../ports/archive-store.ts'

const loaded = () => import('./archive/store.ts')

/** Files in a directory of this machine. */
export const dirShelf = (directory: string): Shelf => ({
  pathOf: (name) => join(directory, name),
  prepare: async (options) => (await loaded()).prepareShelf(directory, options),
  has: async (path) => (await loaded()).hasName(path),
  pack: async (tree, path, options) => (await loaded()).shelve(tree, path, options),
  undo: async (path, stage) => (await loaded()).unshelve(path, stage),
  remove: async (path, made) => (await loaded()).removeShelved(path, made),
})
