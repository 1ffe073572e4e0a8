import { makeMemoryTree, readMemoryTree } from '../../testing/memory-tree.ts'
import { storageContract } from '../../testing/storage-contract.ts'
import { memoryDisk } from '../files/memory-disk.ts'
import { memoryStorage } from './memory.ts'

storageContract('memory', async () => {
  const disk = memoryDisk(() => new Date())
  const storage = memoryStorage({ disk })
  let folders = 0
  return {
    storage,
    folder(tree) {
      const path = `/host/folder-${++folders}`
      makeMemoryTree(disk, path, tree)
      return path
    },
    read: (place) => readMemoryTree(disk, storage.attachment(place).path, { times: true }),
    write: (place, path, content) =>
      makeMemoryTree(disk, storage.attachment(place).path, { [path]: { kind: 'file', content } }),
    unmount: () => void disk.remove('/storage/.aw-storage'),
    [Symbol.dispose]: () => {},
  }
})
