import * as fs from 'node:fs'
import { chownWithHelper, copyProgram } from './helper.ts'
import { chownTreeLike, inheritedOwner } from './chown-like.ts'
import { directoryFlags } from '../safe-fs/descriptors.ts'

/** What root has made, a whole tree that nobody else can reach yet, comes to belong to whom its top belongs to. */
export async function chownTree(tree: string, signal?: AbortSignal): Promise<void> {
  const program = copyProgram()
  const owner = inheritedOwner(tree)
  if (owner === undefined) return
  if (program === undefined) return chownTreeLike(tree, tree)
  const fd = fs.openSync(tree, directoryFlags)
  try {
    await chownWithHelper(program, fd, owner, signal)
  } finally {
    fs.closeSync(fd)
  }
}
