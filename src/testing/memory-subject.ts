import { memoryDisk } from '../drivers/files/memory-disk.ts'
import { memoryStorage } from '../drivers/storage/memory.ts'
import type { Edit } from './edits.ts'
import { editMemory } from './memory-edits.ts'
import { makeMemoryTree, readMemoryTree } from './memory-tree.ts'
import type { StorageSubject } from './storage-contract.ts'

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
