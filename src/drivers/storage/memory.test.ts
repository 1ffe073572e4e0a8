import { editMemory } from '../../testing/memory-edits.ts'
import { makeMemoryTree, readMemoryTree } from '../../testing/memory-tree.ts'
import { portableSuites, storageContract } from '../../testing/storage-contract.ts'
import { memoryDisk } from '../files/memory-disk.ts'
import { memoryStorage } from './memory.ts'

storageContract(
  'memory',
  async () => {
    const disk = memoryDisk(() => new Date())
    const storage = memoryStorage({ disk })
    let folders = 0
    return {
      storage,
      reopen: () => memoryStorage({ disk }),
      folder(tree) {
        const path = `/host/folder-${++folders}`
        makeMemoryTree(disk, path, tree)
        return path
      },
      read: (place) => readMemoryTree(disk, storage.attachment(place).path, { times: true }),
      write: (place, path, content) =>
        makeMemoryTree(disk, storage.attachment(place).path, { [path]: { kind: 'file', content } }),
      edit(place, ...edits) {
        const tree = disk.directory(storage.attachment(place).path)
        for (const edit of edits) {
          if (tree === undefined) throw new Error('There is no such tree')
          editMemory(tree, edit, disk.now())
        }
      },
      unmount: () => void disk.remove('/storage/.aw-storage'),
      [Symbol.dispose]: () => {},
    }
  },
  portableSuites,
)
