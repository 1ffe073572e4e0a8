import { readdirSync, statSync } from 'node:fs'
import { hostFs } from '../host-fs.ts'

/**
 * What root makes in a tree belongs to the tree's owner. Nobody else has seen it yet.
 * @param made a directory in the tree, or the tree itself
 */
export function ownLike(tree: string, made: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(tree)
  if (uid === 0 && gid === 0) return
  const left = [Buffer.from(made)]
  for (let directory = left.pop(); directory; directory = left.pop()) {
    hostFs.lchownSync(directory, uid, gid)
    // Names in a tree are bytes: they need not be text.
    for (const entry of readdirSync(directory, { withFileTypes: true, encoding: 'buffer' })) {
      const path = Buffer.concat([directory, Buffer.from('/'), entry.name])
      if (entry.isDirectory()) left.push(path)
      else hostFs.lchownSync(path, uid, gid)
    }
  }
}
