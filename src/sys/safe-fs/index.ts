import type { FileHandle, Files, RootOptions } from '../../ports/files.ts'
import { copy } from './write/copy.ts'
import { fill } from './write/fill.ts'
import { list } from './read/list.ts'
import { read, resolve, stat } from './read/read.ts'
import { remove } from './write/remove.ts'
import { rename } from './write/rename.ts'
import { openTree } from './root.ts'
import { create, open } from './read/stream.ts'
import { tree } from './read/tree.ts'
import { append, mkdir, write } from './write/write.ts'

export { measureTree } from './read/measure.ts'
export { removeTree } from './write/remove.ts'

/** Opens a handle on a tree. See `ports/files.ts` for what it promises. */
export function openRoot(path: string, options: RootOptions = {}): FileHandle {
  const root = openTree(path, options)
  return {
    read: (path, options) => read(root, path, options),
    write: (path, content, options) => write(root, path, content, options),
    append: (path, content, options) => append(root, path, content, options),
    fill: (directory, files, mode) => fill(root, directory, files, mode),
    open: (path, options) => open(root, path, options),
    create: (path, options) => create(root, path, options),
    list: (path, options) => list(root, path, options),
    tree: (path, options) => tree(root, path, options),
    stat: (path, options) => stat(root, path, options),
    mkdir: (path, options) => mkdir(root, path, options),
    rename: (from, to, options) => rename(root, from, to, options),
    copy: (from, to, options) => copy(root, from, to, options),
    remove: (path, options) => remove(root, path, options),
    resolve: (path, options) => resolve(root, path, options),
    [Symbol.dispose]: () => root[Symbol.dispose](),
  }
}

export const safeFiles: Files = { open: openRoot }

/** As safe: the walk says yes and no exactly as openat2 does, a little slower, and saves loading what makes system calls, which takes longer. */
export const walkFiles: Files = {
  open: (path, options = {}) => openRoot(path, { ...options, resolver: process.env['AW_RESOLVER'] ? 'auto' : 'walk' }),
}
