import { allDone } from '../../../domain/all-done.ts'
import { AwError } from '../../../domain/errors.ts'
import type { Frozen, Place } from '../../../ports/storage-driver.ts'
import { destroySubvolume, infoAt, lastChange, snapshotSubvolume } from './kernel/subvolume.ts'

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
  attempts: number,
  look: () => Promise<T>,
): Promise<{ readonly consistency: Frozen['consistency']; readonly seen: T }> {
  for (let left = attempts; ; left--) {
    await snapshotSubvolume(source, path, { readOnly: true })
    const flushed = lastChange(source)
    const seen = await allDone(look(), flushed)
    if ((await flushed) <= infoAt(path).made) return { consistency: 'atomic', seen }
    if (left === 1 || !destroySubvolume(path)) return { consistency: 'fuzzy', seen }
  }
}

export const written = (volume: Place): AwError =>
  new AwError('workspace_active', 'The workspace is being written to', {
    hint: 'Stop what works in it, and try again',
    data: { volume },
  })
