import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { EraseOptions, Place } from '../../../ports/storage-driver.ts'
import { syncDirectoryAsync } from '../../../sys/fs/directories.ts'
import { dropFolderIndex } from '../../../sys/trees/folder-index.ts'
import type { TreeRoot } from '../root/tree-root.ts'
import type { Context } from './context.ts'
import { commit, removeSubvolume } from './kernel/subvolume.ts'

export async function eraseTree(
  { root, trees, work }: Context,
  place: Place,
  { signal, more = false }: EraseOptions = {},
): Promise<void> {
  const path = trees.path(place)
  const before = trees.free().bytes
  if (place.area === 'bases') dropFolderIndex(root, place.name)
  await removeSubvolume(path, { signal })
  if (more) return
  // The log may be flushed without the transaction that removes it: then it would be back after a power cut.
  if (isScarce(trees)) await givenBack(trees, path, before)
  else if (place.area !== 'tmp') await syncDirectoryAsync(dirname(path))
  await work.sweep(signal)
}

function isScarce(trees: TreeRoot): boolean {
  const { bytes, total } = trees.free()
  return bytes < total / 10
}

/** Where there is little room left, what was erased is waited for, for a moment: btrfs gives it back commit by commit. */
async function givenBack(trees: TreeRoot, erased: string, before: number): Promise<void> {
  for (let tries = 0; tries < 10; tries++) {
    await commit(erased)
    if (trees.free().bytes > before) return
    await sleep(100)
  }
}
