import { settleAll } from '../../../domain/settle-all.ts'
import { AwError } from '../../../domain/errors.ts'
import type { Frozen, Place, SnapshotOptions } from '../../../ports/storage-driver.ts'
import { type Context, unlessTaken } from './context.ts'
import { countChanges } from './diff.ts'
import { destroySubvolume, infoAt, lastChange, removeSubvolume, snapshotSubvolume } from './kernel/subvolume.ts'
import { assertNoNestedSubvolumes, nestedIn } from './nested.ts'

/** A read-only snapshot of a volume, and how much has changed since an earlier one. */
export async function snapshotTree(
  context: Context,
  volume: Place,
  into: Place,
  { consistent = false, whole, since, exclude, signal }: SnapshotOptions,
): Promise<Frozen> {
  const { trees } = context
  const source = trees.found(volume)
  if (whole !== undefined) assertNoNestedSubvolumes(source, whole)
  const counted = () => countChanges(context, since, into, { exclude, signal })
  const { consistency, seen } = await unlessTaken(into, () => freeze(source, trees.path(into), counted))
  if (consistency === 'fuzzy' && consistent) {
    await removeSubvolume(trees.path(into))
    throw beingWritten(volume)
  }
  const left_out = nestedIn(source)
  return { ...frozen(consistency, seen), ...(left_out.length > 0 && { left_out }) }
}

export const frozen = (consistency: Frozen['consistency'], changed: number | null): Frozen => ({
  mechanism: 'btrfs snapshot',
  consistency,
  changed,
})

/** How often a snapshot of a tree that is being written to is tried. */
const attempts = 3

/**
 * Takes a read-only snapshot. btrfs makes it in one step, but of what has reached its trees: before, it flushes file by
 * file, and what is written meanwhile is in it for one file and not for another, or as zeros at the end (found by
 * experiment on 6.18). So it is of one instant if nothing was written to the source until after it was made, which its
 * last change tells when everything is flushed once more; where nothing is to be flushed, that costs nothing.
 *
 * Somebody who writes now and then leaves room for it: where a snapshot can be taken back at once, it is tried again.
 *
 * @param look what is asked of the snapshot; meanwhile the disk is waited for
 */
export async function freeze<T>(
  source: string,
  path: string,
  look: () => Promise<T>,
): Promise<{ readonly consistency: Frozen['consistency']; readonly seen: T }> {
  for (let left = attempts; ; left--) {
    await snapshotSubvolume(source, path, { readOnly: true })
    const flushed = lastChange(source)
    const seen = await settleAll(look(), flushed)
    if ((await flushed) <= infoAt(path).made) return { consistency: 'atomic', seen }
    if (left === 1 || !destroySubvolume(path)) return { consistency: 'fuzzy', seen }
  }
}

export const beingWritten = (volume: Place): AwError =>
  new AwError('workspace_active', 'The workspace is being written to', {
    hint: 'Stop what works in it, and try again',
    data: { volume },
  })
