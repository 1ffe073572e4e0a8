import { lchownSync, type PathLike, readdirSync, statSync } from 'node:fs'
import { counted } from '../fs/crash-points.ts'
import { hostFs } from '../fs/host-fs.ts'

/** What root makes in a tree belongs to the tree's owner; others own what they make anyway. */

/**
 * @param like a directory of the tree, which has the owner
 * @param made by a path that nobody else can make lead elsewhere
 */
export function chownLike(like: string, made: PathLike): void {
  const owner = inheritedOwner(like)
  if (owner !== undefined) hostFs.lchownSync(made, owner.uid, owner.gid)
}

/** The same with all that is in it, which nobody else can reach yet. */
export function chownTreeLike(like: string, made: string): void {
  const owner = inheritedOwner(like)
  if (owner !== undefined) whole.give(made, owner)
}

interface Owner {
  readonly uid: number
  readonly gid: number
}

export function inheritedOwner(like: string): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = statSync(like)
  return uid === 0 && gid === 0 ? undefined : { uid, gid }
}

/** One step: half of it is as much as nothing, as what it is part of is made anew. */
const whole = counted({
  give(made: string, { uid, gid }: Owner): void {
    const left = [Buffer.from(made)]
    for (let directory = left.pop(); directory; directory = left.pop()) {
      lchownSync(directory, uid, gid)
      // Names in a tree are bytes: they need not be text.
      for (const entry of readdirSync(directory, { withFileTypes: true, encoding: 'buffer' })) {
        const path = Buffer.concat([directory, Buffer.from('/'), entry.name])
        if (entry.isDirectory()) left.push(path)
        else lchownSync(path, uid, gid)
      }
    }
  },
})
