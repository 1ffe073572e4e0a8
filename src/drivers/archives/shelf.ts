import { join } from 'node:path'
import type { Shelf } from '../../ports/shelf.ts'

const loaded = () => import('../../sys/archive/shelf.ts')

/** Files in a directory of this machine, which is made when the first one is. */
export const dirShelf = (directory: string): Shelf => ({
  pathOf: (name) => join(directory, name),
  has: async (path) => (await loaded()).hasName(path),
  pack: async (tree, path, options) => (await loaded()).shelve(tree, path, options),
  undo: async (path, stage) => (await loaded()).unshelve(path, stage),
  remove: async (path, made) => (await loaded()).removeShelved(path, made),
})
