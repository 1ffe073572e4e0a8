import { type Entry, entriesOf, inodeOf, inodeTree, touchedInodes } from './inodes.ts'
import { nestedSubvolumes } from './ioctls.ts'
import { type ErasedOrigins, lastCommonTransaction } from './lineage.ts'
import { commit, holdSubvolume } from './subvolume.ts'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { runCancellable } from '../../../../sys/trees/run-cancellable.ts'

/**
 * By how many bytes the files of a tree are more than those of a frozen one that it was made from, by way of others
 * perhaps. Null if that cannot be told without a look at everything. Only for root.
 */
export async function bytesGrownSince(base: string, tree: string, erased: ErasedOrigins): Promise<number | null> {
  await commit(tree)
  using before = holdSubvolume(base)
  using after = holdSubvolume(tree)
  const since = lastCommonTransaction(before.fd, after.fd, erased)
  if (since === undefined || nestedSubvolumes(after.fd).length > 0) return null
  return await runCancellable(bytesBeyond(before.fd, after.fd, since))
}

/**
 * By how many bytes the files of one subvolume are more than those of another, from which it parted in a transaction:
 * each file once, whatever names it has, and at its size. The cost follows what was written since in either. What is in
 * subvolumes that were made in it is not counted.
 */
function* bytesBeyond(before: number, after: number, since: bigint): Coroutine<number> {
  const [old, now] = [inodeTree(before), inodeTree(after)]
  const seen = new Set<bigint>()
  const left: bigint[] = []
  const meet = (inode: bigint): void => {
    if (seen.has(inode)) return
    seen.add(inode)
    left.push(inode)
  }
  for (const side of [old, now]) {
    for (const { inode } of touchedInodes(side, since)) {
      meet(inode)
      yield
    }
  }
  let bytes = 0
  for (let inode = left.pop(); inode !== undefined; inode = left.pop()) {
    const [was, is] = [inodeOf(old, inode), inodeOf(now, inode)]
    bytes += (is?.bytes ?? 0) - (was?.bytes ?? 0)
    if (was?.isDirectory === true || is?.isDirectory === true) {
      const [had, has] = [entriesOf(old, inode), entriesOf(now, inode)]
      // A file that went is told by nothing but the directory that it is missing from.
      for (const other of [...missingFrom(had, has), ...missingFrom(has, had)]) meet(other)
    }
    yield
  }
  return bytes
}

function* missingFrom(entries: ReadonlyMap<string, Entry>, others: ReadonlyMap<string, Entry>): Generator<bigint> {
  const there = new Set([...others.values()].filter(isHere).map(({ inode }) => inode))
  for (const entry of entries.values()) if (isHere(entry) && !there.has(entry.inode)) yield entry.inode
}

const isHere = ({ isSubvolume }: Entry): boolean => !isSubvolume
