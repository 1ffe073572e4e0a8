import type { Change, DiffOptions, Place } from '../../../ports/storage-driver.ts'
import { countDifferences, diffSubvolumes } from './kernel/diff.ts'
import { bytesGrownSince } from './kernel/growth.ts'
import { infoAt, lastChange } from './kernel/subvolume.ts'
import { compareTrees } from '../../../sys/trees/compare.ts'
import { mountsBelow } from '../../../sys/trees/mounts-in.ts'
import { isFrozen } from '../root/tree-root.ts'
import { withReadableTrees } from './readable.ts'
import type { Context } from './context.ts'

/**
 * Root reads what btrfs has written since the two parted. What is not yet committed could not be found, and what changes
 * meanwhile would be told half: so a live tree is committed first, and counts only if nothing was written to it until
 * afterwards; else it is looked at in a snapshot of the moment. Trees of different origins, and those of an ordinary user,
 * are walked. What others have mounted in a live tree is not seen in a snapshot, and what it hides is.
 */
export async function diffTrees(
  { trees, work }: Context,
  from: Place,
  to: Place,
  options: DiffOptions = {},
): Promise<Change[]> {
  const [before, after] = [trees.found(from), trees.found(to)]
  const hides = (path: string): boolean => mountsBelow(path).length > 0
  if (process.getuid?.() !== 0) {
    const bare = <T>(path: string, use: (path: string) => Promise<T>): Promise<T> =>
      hides(path) ? work.withSnapshot(path, false, use) : use(path)
    const walked = (...paths: [string, string]): Promise<Change[]> =>
      withReadableTrees(work, paths, ([one = before, other = after]) => compareTrees(one, other, options))
    return bare(before, (one) => bare(after, (other) => walked(one, other)))
  }
  const quickly = (one: string, other: string): Promise<Change[] | undefined> =>
    diffSubvolumes(one, other, { ...options, erased: work.erased })
  const compared = async (one: string, other: string): Promise<Change[]> =>
    (await quickly(one, other)) ?? compareTrees(one, other, options)
  const frozen = <T>(place: Place, path: string, use: (path: string) => Promise<T>): Promise<T> =>
    isFrozen(place) ? use(path) : work.withSnapshot(path, true, use)
  if (isFrozen(from) !== isFrozen(to)) {
    const [snapshot, volume] = isFrozen(from) ? [before, after] : [after, before]
    const changed = await lastChange(volume)
    if (changed <= (lastEqualTransaction(snapshot, volume) ?? -1n)) return []
    const told = hides(volume) ? undefined : await unlessWrittenTo(volume, changed, () => quickly(before, after))
    if (told !== undefined) return told
  }
  return frozen(from, before, (one) => frozen(to, after, (other) => compared(one, other)))
}

/** The transaction in which the volume was frozen into this snapshot, or made from it. */
function lastEqualTransaction(snapshot: string, volume: string): bigint | undefined {
  const [frozen, live] = [infoAt(snapshot), infoAt(volume)]
  if (frozen.parentUuid === live.uuid) return frozen.made
  return live.parentUuid === frozen.uuid ? live.made : undefined
}

/** Undefined if anything was written to the volume meanwhile: then nothing that was seen need be true. */
async function unlessWrittenTo<T>(volume: string, changed: bigint, look: () => Promise<T>): Promise<T | undefined> {
  const isStill = async (): Promise<boolean> => (await lastChange(volume)) === changed
  try {
    const seen = await look()
    return (await isStill()) ? seen : undefined
  } catch (error) {
    if (await isStill()) throw error
    return undefined
  }
}

/** A snapshot must not wait long for being counted. */
const most = 2000

/** How many paths differ, where that costs no walk and is soon known. */
export async function countChanges(
  { trees, work }: Context,
  since: Place | undefined,
  frozen: Place,
  options: DiffOptions,
): Promise<number | null> {
  if (since === undefined || !isFrozen(since) || !trees.exists(since) || process.getuid?.() !== 0) return null
  return (
    (await countDifferences(trees.path(since), trees.path(frozen), { ...options, erased: work.erased, most })) ?? null
  )
}

/** What a tree holds beyond a frozen one, where that costs no walk. */
export async function bytesBeyond({ trees, work }: Context, tree: string, base: Place): Promise<number | null> {
  if (process.getuid?.() !== 0 || !isFrozen(base) || !trees.exists(base)) return null
  const grown = await bytesGrownSince(trees.path(base), tree, work.erased)
  return grown === null ? null : Math.max(0, grown)
}
