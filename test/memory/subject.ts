import { memoryDisk } from './disk.ts'
import { memoryStorage } from './storage/storage.ts'
import type { Edit } from '../support/edits.ts'
import { editMemory } from './edits.ts'
import { makeMemoryTree, readMemoryTree } from './tree.ts'
import type { StorageSubject } from '../contracts/storage.ts'

/** The oracle. */
export function memorySubject(): StorageSubject {
  const disk = memoryDisk(() => new Date())
  const storage = memoryStorage({ disk })
  const editTree = (path: string, edits: readonly Edit[]): void => {
    const tree = disk.directory(path)
    if (tree === undefined) throw new Error(`There is no tree ${path}`)
    for (const edit of edits) editMemory(tree, edit, disk.now())
  }
  let folders = 0
  return {
    storage,
    reopen: () => memoryStorage({ disk }),
    folder(tree) {
      const path = `/host/folder-${++folders}`
      makeMemoryTree(disk, path, tree)
      return path
    },
    editFolder: (folder, ...edits) => editTree(folder, edits),
    read: (place) => readMemoryTree(disk, storage.attachment(place).path, { times: true }),
    write: (place, path, content) =>
      makeMemoryTree(disk, storage.attachment(place).path, { [path]: { kind: 'file', content } }),
    edit: (place, ...edits) => editTree(storage.attachment(place).path, edits),
    unmount: () => void disk.remove('/storage/.aw-storage'),
    [Symbol.dispose]: () => {},
  }
}
