import { AwError } from '../../../domain/errors.ts'
import type { Frozen, Place, RestoreOptions } from '../../../ports/storage-driver.ts'
import { copyLimit, hasQuota, limitGrowth } from './kernel/quota.ts'
import { exchangeSubvolumes, infoAt, lastChange, snapshotSubvolume, withSubvolume } from './kernel/subvolume.ts'
import { treeExists } from '../root/root.ts'
import { assertNoMountsBelow } from '../../../sys/trees/mounts-in.ts'
import type { TreeRoot } from '../root/tree-root.ts'
import type { Context } from './context.ts'
import { countChanges } from './diff.ts'
import { beingWritten, freeze, frozen } from './snapshot.ts'
import { assertNoNestedSubvolumes } from './nested.ts'

export async function restoreTree(
  context: Context,
  [volume, to, keep]: readonly [Place, Place, Place],
  { resume, since, exclude, maxBytes, signal }: RestoreOptions = {},
): Promise<Frozen | undefined> {
  if (resume === undefined) await exchange({ ...context, volume, keep }, to, maxBytes)
  else if (!(await finish({ ...context, volume, keep }))) return undefined
  return frozen('atomic', await countChanges(context, since, keep, { exclude, signal }))
}

interface Restore extends Context {
  readonly volume: Place
  readonly keep: Place
}

/**
 * A writable snapshot of the wanted tree changes places with the volume; then the old tree, now out of reach, is frozen
 * as `keep` and set aside. It is not itself made `keep`: btrfs lets whoever has a file of it open go on writing to it,
 * also when the tree is set read-only (found by experiment on 6.18), while a snapshot that is born read-only has been
 * opened by nobody. The commit of that snapshot makes the exchange durable too, so it costs two commits either way.
 */
async function exchange(restore: Restore, to: Place, maxBytes?: number): Promise<void> {
  const { trees, work, keep } = restore
  const [volume, wanted] = [trees.found(restore.volume), trees.found(to)]
  trees.assertFree(keep)
  await finish({ ...restore, keep: undefined })
  assertNoNestedSubvolumes(volume)
  // What is mounted in the old tree would go with it.
  assertNoMountsBelow(volume)
  const other = work.restoring(restore.volume.name)
  await snapshotSubvolume(wanted, other, { readOnly: false })
  try {
    // A writer is told before anything has changed. Right after a commit, there is nothing to flush but his.
    if (!(await isQuiet(volume))) throw beingWritten(restore.volume)
    keepLimit(volume, other, maxBytes)
    exchangeSubvolumes(volume, other)
    try {
      const { consistency } = await freeze(other, trees.path(keep), async () => undefined)
      if (consistency === 'fuzzy') {
        work.discard(trees.path(keep))
        throw beingWritten(restore.volume)
      }
    } catch (error) {
      exchangeSubvolumes(volume, other)
      throw error
    }
  } catch (error) {
    work.discard(other)
    throw error
  }
  work.remember(other)
  work.setAside(other)
}

/** Nothing is written to it from one flush to the next; the first may find what was written before. */
async function isQuiet(volume: string): Promise<boolean> {
  let before = infoAt(volume).changed
  for (let left = attempts; left > 0; left--) {
    const now = await lastChange(volume)
    if (now === before) return true
    before = now
  }
  return false
}

/** Whoever still has files of it open may be at the end of what it does. */
const attempts = 3

/**
 * After a crash: true if the restore is done now, false if it had not come to the exchange and nothing is left of it.
 * Which it was, the two trees tell themselves: the wanted one was made later, and the ids of subvolumes only grow.
 */
async function finish({
  trees,
  work,
  ...restore
}: Omit<Restore, 'keep'> & { keep: Place | undefined }): Promise<boolean> {
  const other = work.restoring(restore.volume.name)
  const isKept = restore.keep === undefined ? wasKept(trees, other, restore.volume) : trees.exists(restore.keep)
  if (!treeExists(other)) return isKept
  const isExchanged = infoAt(other).id < infoAt(trees.found(restore.volume)).id
  if (isExchanged && !isKept) {
    if (restore.keep === undefined) throw unfinished(restore.volume)
    await snapshotSubvolume(other, trees.path(restore.keep), { readOnly: true })
  }
  work.remember(other)
  if (isExchanged) work.setAside(other)
  else work.discard(other)
  return isExchanged
}

/**
 * A restore that was finished may have left its other tree, if the power failed before that was durable. Then what was
 * in it has been frozen since it was exchanged.
 */
function wasKept(trees: TreeRoot, other: string, volume: Place): boolean {
  if (!treeExists(other)) return false
  const [{ uuid }, { id }] = [infoAt(other), infoAt(trees.found(volume))]
  return trees
    .list()
    .filter(({ area }) => area === 'snapshots')
    .map((place) => infoAt(trees.path(place)))
    .some((snapshot) => snapshot.parentUuid === uuid && snapshot.id > id)
}

const unfinished = (volume: Place): AwError =>
  new AwError('invalid_state', 'An earlier restore of this workspace was interrupted and not finished', {
    hint: 'Run: aw recover',
    data: { volume },
  })

function keepLimit(from: string, to: string, maxBytes: number | undefined): void {
  if (process.getuid?.() !== 0) return
  withSubvolume(from, (old) => {
    if (!hasQuota(old)) return
    withSubvolume(to, (now) => (maxBytes === undefined ? copyLimit(old, now) : limitGrowth(now, maxBytes)))
  })
}
