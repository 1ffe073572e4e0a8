import { editMemory } from '../../testing/memory-edits.ts'
import { makeMemoryTree, readMemoryTree } from '../../testing/memory-tree.ts'
import { everySuite, storageContract } from '../../testing/storage-contract.ts'
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
      isHost: false,
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
          if (tree === undefined || edit.do === 'attribute') throw new Error('There is no such thing in memory')
          editMemory(tree, edit, disk.now())
        }
      },
      unmount: () => void disk.remove('/storage/.aw-storage'),
      [Symbol.dispose]: () => {},
    }
  },
  everySuite,
)
