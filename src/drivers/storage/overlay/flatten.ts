import { syncFileSystem, viewOf } from '../../../sys/mounts.ts'
import { filesOf, ground, lowerStack, makeLayer, type NewLayer, retireWork } from '../../../sys/overlay-layers.ts'
import { closeMount } from '../../../sys/overlay-mountpoint.ts'
import { lockRecords, type Stack } from '../../../sys/overlay-records.ts'
import { remakeTree } from '../../../sys/overlay-remake.ts'
import type { Overlay } from './context.ts'

/** The kernel takes 500; every one of them makes a look at a directory a little slower. */
export const maxLayers = 100

interface Flat extends NewLayer {
  readonly below: Stack
}

/** Copies what frozen layers show together into one, exactly. The volume that uses them goes on meanwhile. */
export async function flatten(
  { root, open }: Overlay,
  stack: Stack,
  { signal }: { signal?: AbortSignal | undefined },
): Promise<Flat> {
  const layer = await newLayer(root)
  const fd = await open(lowerStack(root, stack))
  try {
    await remakeTree(viewOf(fd), filesOf(root, layer.id), { signal })
    syncFileSystem(root)
    await retireWork(root, layer.id)
  } catch (error) {
    layer[Symbol.dispose]()
    throw error
  } finally {
    closeMount(fd)
  }
  return { ...layer, below: [ground] }
}

async function newLayer(root: string): Promise<NewLayer> {
  using _ = await lockRecords(root, 'together')
  return makeLayer(root, {})
}
