import { mountPath, syncFileSystemAsync } from '../../../sys/fs/mounts.ts'
import { bottomLayer, filesOf, lowerStack, makeLayer, type NewLayer, retireWork, upperStack } from './kernel/layers.ts'
import { closeMount } from './kernel/mount-point.ts'
import { lockRecords, type Records, type Stack } from './kernel/records.ts'
import { replayChanges } from './kernel/replay.ts'
import type { Overlay } from './context.ts'

/** The kernel takes 500; every one of them makes a look at a directory a little slower. */
export const maxLayers = 100

interface Flat extends NewLayer {
  readonly below: Stack
}

/**
 * Makes one layer of all that frozen layers have above a base, or above nothing: over the base it shows what they did,
 * exactly. The volume that uses them goes on meanwhile.
 */
export async function flatten(
  overlay: Overlay,
  stack: Stack,
  { signal }: { signal?: AbortSignal | undefined },
): Promise<Flat> {
  const { root, open } = overlay
  const { layer, below } = await begin(root, stack)
  const own = stack.slice(0, -below.length).map((id) => filesOf(root, id))
  try {
    const view = await open(lowerStack(root, stack))
    try {
      await withTarget(overlay, [layer.id, ...below], (target) =>
        replayChanges(own, mountPath(view), target, { signal }),
      )
    } finally {
      closeMount(view)
    }
    await syncFileSystemAsync(root)
    await retireWork(root, layer.id)
  } catch (error) {
    layer[Symbol.dispose]()
    throw error
  }
  return { ...layer, below }
}

async function begin(root: string, stack: Stack): Promise<{ layer: NewLayer; below: Stack }> {
  using records = await lockRecords(root, 'together')
  return { layer: makeLayer(root, {}), below: baseBelow(records, stack) }
}

/** What it was made from stays as it is: others have it too, and sizes are told against it. */
function baseBelow(records: Records, stack: Stack): Stack {
  const bases = records.all().flatMap(([{ area }, layers]) => (area === 'bases' ? [layers] : []))
  const isBelow = (base: Stack): boolean =>
    base.length < stack.length && base.length <= maxLayers / 2 && stack.slice(-base.length).join() === base.join()
  return bases.filter(isBelow).reduce((most, base) => (base.length > most.length ? base : most), [bottomLayer])
}

/** Over nothing, the layer itself is all that there is to write to. */
async function withTarget(
  { root, open }: Overlay,
  stack: Stack,
  use: (target: string) => Promise<void>,
): Promise<void> {
  const [layer = '', ...below] = stack
  if (below.join() === bottomLayer) return use(filesOf(root, layer))
  const fd = await open(upperStack(root, stack))
  try {
    await use(mountPath(fd))
  } finally {
    closeMount(fd)
  }
}
