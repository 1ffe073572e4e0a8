import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../domain/errors.ts'
import type { Frozen, Place, SnapshotOptions } from '../../../ports/storage-driver.ts'
import { type ForeignMount, mountPath, syncFileSystemAsync } from '../../../sys/fs/mounts.ts'
import { stateOf } from './kernel/changes.ts'
import { makeLayer, type NewLayer, retireWork, syncLayers, upperStack } from './kernel/layers.ts'
import { closeMount } from './kernel/mount-point.ts'
import { lockRecords, type Stack } from './kernel/records.ts'
import { replayChanges } from './kernel/replay.ts'
import { type Overlay, upperFiles, withView } from './context.ts'

interface Task {
  readonly volume: Place
  readonly into: Place
  readonly stack: Stack
}

/**
 * The snapshot of a tree that is in use: what was changed in it since it got its upper layer is made once more in a layer
 * of its own, over the same layers. It is of one instant if the upper layer is the same before and after, down to the
 * times of change, which nobody can set.
 */
export async function snapshotLive(
  overlay: Overlay,
  { volume, into, stack }: Task,
  { consistent = false, after, signal, onProgress }: SnapshotOptions,
): Promise<Omit<Frozen, 'changed'>> {
  const { root } = overlay
  const upper = upperFiles(overlay, stack)
  const before = await settled(upper)
  // A file that is written through a mapping is told again by its time once what was written so far is on the disk.
  await syncFileSystemAsync(root)
  using layer = await newLayer(root, upper)
  const fd = await overlay.open(upperStack(root, [layer.id, ...stack.slice(1)]))
  try {
    await withView(overlay, volume, (view) => replayChanges([upper], view, mountPath(fd), { signal, onProgress }))
  } finally {
    // Unmounting it makes it durable.
    closeMount(fd)
  }
  const isOne = stateOf(upper).hash === before
  if (consistent && !isOne) throw treeInUse(volume)
  await retireWork(root, layer.id)
  using records = await lockRecords(root, 'together')
  syncLayers(root, [layer.id])
  records.add(into, [layer.id, ...stack.slice(1)])
  await records.syncLater(after)
  return { mechanism: 'overlay copy of changes', consistency: isOne ? 'atomic' : 'fuzzy' }
}

async function newLayer(root: string, like: string): Promise<NewLayer> {
  using _ = await lockRecords(root, 'together')
  return makeLayer(root, { like })
}

/** On kernels that know no finer time, two changes within one tick of the clock have the same. */
const tickMs = 12

/** A state that every later change makes another. */
async function settled(upper: string): Promise<string> {
  const first = stateOf(upper)
  const ageMs = Date.now() - Number(first.latest / 1_000_000n)
  if (ageMs > tickMs) return first.hash
  await sleep(tickMs)
  return stateOf(upper).hash
}

/** @param elsewhere other mount namespaces that have it */
export const treeInUse = (volume: Place, elsewhere: readonly ForeignMount[] = []): AwError =>
  new AwError('workspace_active', `The tree ${volume.area}/${volume.name} is in use`, {
    hint:
      elsewhere[0] === undefined
        ? 'Stop what is running in it, and try again'
        : `Process ${elsewhere[0].process} has it mounted in a mount namespace of its own: end it, and try again`,
    data: { place: volume, elsewhere: elsewhere.map(({ process, namespace, path }) => ({ process, namespace, path })) },
  })
