import * as fs from 'node:fs'
import { copyProgram, giveAway } from './helper.ts'
import { ownAllLike, ownerToGive } from './chown-like.ts'
import { directoryFlags } from '../safe-fs/descriptors.ts'

/** What root has made, a whole tree that nobody else can reach yet, comes to belong to whom its top belongs to. */
export async function ownWholeTree(tree: string, signal?: AbortSignal): Promise<void> {
  const program = copyProgram()
  const owner = ownerToGive(tree)
  if (owner === undefined) return
  if (program === undefined) return ownAllLike(tree, tree)
  const fd = fs.openSync(tree, directoryFlags)
  try {
    await giveAway(program, fd, owner, signal)
  } finally {
    fs.closeSync(fd)
  }
}
