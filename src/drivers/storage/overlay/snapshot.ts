import { AwError } from '../../../domain/errors.ts'
import type { Frozen, Place, SnapshotOptions, WriteOrdering } from '../../../ports/storage-driver.ts'
import { isUnchanged, makeLayer, retireWork, syncLayers } from './kernel/layers.ts'
import { lockRecords, readRecord, recordTaken, type Stack } from './kernel/records.ts'
import { ensureMounted, layeredStackOf, type Overlay, upperFiles, upperOf } from './context.ts'
import { countChanges } from './diff.ts'
import { flatten, maxLayers } from './flatten.ts'
import { snapshotLive } from './live-snapshot.ts'
import { changeWhileUnmounted } from './while-unmounted.ts'

/**
 * Freezes a tree. If nothing was changed since it got its upper layer, the snapshot is the layers below. If nobody uses
 * it, its upper layer is frozen and it gets a new one. Else its changes are made once more, in a layer of the snapshot's.
 */
export async function snapshotTree(
  overlay: Overlay,
  volume: Place,
  into: Place,
  options: SnapshotOptions = {},
): Promise<Frozen> {
  const stack = layeredStackOf(overlay, volume)
  if (readRecord(overlay.root, into) !== undefined) throw recordTaken(into)
  const { looked = false, ...made } = await freeze(overlay, { volume, into, stack }, options)
  return { ...made, changed: await countChanges(overlay, options.since, into, { ...options, looked }) }
}

interface Task {
  readonly volume: Place
  readonly into: Place
  readonly stack: Stack
}

interface Made extends Omit<Frozen, 'changed'> {
  /** All that was changed was looked at already. */
  readonly looked?: boolean
}

async function freeze(overlay: Overlay, task: Task, options: SnapshotOptions): Promise<Made> {
  const { root } = overlay
  if (isUnchanged(root, task.stack)) {
    using records = await lockRecords(root, 'together')
    records.add(task.into, task.stack.slice(1))
    await records.syncLater(options.after)
    return { mechanism: 'overlay, nothing changed', consistency: 'atomic' }
  }
  await ensureMounted(overlay, task.volume)
  using flat = task.stack.length > maxLayers ? await flatten(overlay, task.stack.slice(1), options) : undefined
  // What is frozen does not care whether the tree below it is made of one layer or of many.
  const below = flat === undefined ? task.stack : [upperOf(task.stack), flat.id, ...flat.below]
  const frozen = await changeWhileUnmounted(overlay, task.volume, task.stack, {
    make: (mount) => freezeUpper(overlay, task, below, { mount, after: options.after }),
    tidy: () => retireWork(root, upperOf(task.stack)),
  })
  if (frozen) return { mechanism: flat ? 'overlay freeze, layers flattened' : 'overlay freeze', consistency: 'atomic' }
  return { ...(await snapshotLive(overlay, task, options)), looked: true }
}

async function freezeUpper(
  overlay: Overlay,
  { volume, into, stack }: Task,
  below: Stack,
  { mount, after }: { mount: (stack: Stack) => void } & WriteOrdering,
): Promise<void> {
  const { root } = overlay
  using records = await lockRecords(root, 'together')
  using layer = makeLayer(root, { like: upperFiles(overlay, stack) })
  const next = [layer.id, ...below]
  // The kernel refuses this if anybody still writes to the layer that is to be frozen.
  mount(next)
  syncLayers(root, next.slice(0, 3))
  if (records.read(volume)?.join() !== stack.join()) throw changedMeanwhile(volume)
  // First the volume, so that there is no moment at which both have the layer and one may write to it.
  records.replace(volume, next)
  records.add(into, below)
  await records.syncLater(after)
}

const changedMeanwhile = (place: Place): AwError =>
  new AwError('workspace_active', `Another operation on ${place.area}/${place.name} came in between`, {
    hint: 'Try again',
    data: { place },
  })
