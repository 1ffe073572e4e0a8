import type { Created, CreateOptions, Place } from '../../../ports/storage-driver.ts'
import { mounts } from '../../../sys/fs/mounts.ts'
import { bottomLayer, filesOf, isSingleLayer, makeLayer, retireWork, syncLayers, upperStack } from './kernel/layers.ts'
import { attachTree, closeMount } from './kernel/mount-point.ts'
import { lockRecords, recordTaken, syncRecords } from './kernel/records.ts'
import { limitsUnsupported, treeMissing } from '../root/tree-root.ts'
import { frozenStackOf, isMountedArea, type Overlay, upperOf } from './context.ts'

/** A new layer over those of a snapshot, or over nothing. */
export async function createTree(
  overlay: Overlay,
  place: Place,
  { mode, from, plain = false, maxBytes, after, later = false }: CreateOptions,
): Promise<Created> {
  const { root, trees } = overlay
  if (maxBytes !== undefined) throw limitsUnsupported('overlay')
  if (from !== undefined) await retireWork(root, upperOf(frozenStackOf(overlay, from)))
  using records = await lockRecords(root, 'together')
  if (records.read(place) !== undefined) throw recordTaken(place)
  const below = from === undefined ? [bottomLayer] : records.read(from)
  if (below === undefined) throw treeMissing(from ?? place)
  const like = from === undefined ? undefined : filesOf(root, upperOf(below))
  using layer = makeLayer(root, { like, mode, owner: overlay.owner })
  // As an ordinary user's, what stands on nothing is a directory like any other.
  const stack = plain && !overlay.mounts ? [layer.id] : [layer.id, ...below]
  const isMounted = overlay.mounts && isMountedArea(place) && !isSingleLayer(place, stack)
  const fd = isMounted ? mounts.overlay(upperStack(root, stack)) : undefined
  try {
    if (fd !== undefined) attachTree(fd, trees.path(place))
    syncLayers(root, [layer.id])
    records.add(place, stack)
    await after
    // What is in tmp becomes durable when it leaves it: the same directory is flushed then.
    const durable = place.area === 'tmp' ? Promise.resolve() : syncRecords(root)
    if (!later) await durable
    return { durable }
  } finally {
    if (fd !== undefined) closeMount(fd)
  }
}
