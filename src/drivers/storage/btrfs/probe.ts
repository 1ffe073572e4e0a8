import type { Probe } from '../../../ports/storage-driver.ts'
import { destroySubvolume, makeSubvolume, removeSubvolume, snapshotSubvolume } from './kernel/subvolume.ts'
import { fileSystemOf } from '../../../sys/fs/file-system.ts'
import { nativeHint, nativeProblem } from '../../../sys/syscalls/native.ts'
import type { TreeRoot } from '../root/tree-root.ts'
import { canLimit } from './create.ts'
import type { WorkArea } from './work-area.ts'

/** Makes a tree, a snapshot and a copy of it, and removes them again. */
export async function probeBtrfs({ root, assert }: TreeRoot, work: WorkArea): Promise<Probe> {
  try {
    assert()
    const problem = nativeProblem()
    if (problem !== undefined) return { usable: false, reasons: [problem], hint: nativeHint }
    if (fileSystemOf(root) !== 'btrfs') return notBtrfs(root)
    const [tree, frozen, copy] = [work.fresh(), work.fresh(), work.fresh()]
    try {
      makeSubvolume(tree)
      await snapshotSubvolume(tree, frozen, { readOnly: true })
      await snapshotSubvolume(frozen, copy, { readOnly: false })
      return { usable: true, notes: notes(root, destroySubvolume(copy)) }
    } finally {
      for (const path of [tree, frozen, copy]) await removeSubvolume(path)
    }
  } catch (error) {
    return { usable: false, reasons: [error instanceof Error ? error.message : String(error)] }
  }
}

function notes(root: string, isQuick: boolean): string[] {
  return [
    'trees are subvolumes: a snapshot, a fork and a restore cost the same whatever the size of the tree',
    isQuick
      ? 'a tree is erased at once'
      : 'a tree is erased file by file: the mount does not let ordinary users delete subvolumes (user_subvol_rm_allowed)',
    canLimit(root) ? 'the kernel can hold a tree to a size' : 'the kernel does not hold a tree to a size here',
  ]
}

const notBtrfs = (root: string): Probe => ({
  usable: false,
  reasons: [`${root} is on ${fileSystemOf(root)}, not on btrfs`],
  hint: 'Put storage.root on a btrfs, or let root make one in a file: aw init --storage btrfs',
})
