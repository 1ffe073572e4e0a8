import type { Place } from '../../../ports/storage-driver.ts'
import { isInUse, mounts, mountsWhere } from '../../../sys/mounts.ts'
import { filesOf, upperStack } from '../../../sys/overlay-layers.ts'
import { closeMount, unmountQuiet } from '../../../sys/overlay-mountpoint.ts'
import type { Stack } from '../../../sys/overlay-records.ts'
import { ensureMounted, type Overlay } from './context.ts'

/**
 * Unmounts a tree that nobody uses, lets `change` change what it is made of, and mounts it again. `change` is given a way
 * to make the overlay that the tree is to become, which is put in place at the end. False if somebody uses the tree: then
 * it is mounted as it was.
 */
export async function quietly(
  overlay: Overlay,
  place: Place,
  stack: Stack,
  change: (mount: (stack: Stack) => void) => Promise<void>,
): Promise<boolean> {
  if (!overlay.mounts) return whileUnmounted(overlay, stack, change)
  const { root, trees } = overlay
  const path = trees.path(place)
  if (!(await unmountQuiet(root, path, stack))) return false
  let made: number | undefined
  const close = (): void => {
    if (made !== undefined) closeMount(made)
    made = undefined
  }
  try {
    await change((next) => {
      made = mounts.overlay(upperStack(root, next))
    })
    if (made !== undefined) mounts.attach(made, path)
    return true
  } catch (error) {
    close()
    await ensureMounted(overlay, place)
    if (isInUse(error)) return false
    throw error
  } finally {
    close()
  }
}

/**
 * A tree that is only mounted in sandboxes. The kernel cannot be asked, so the sandboxes are: their processes are of the
 * same user, who sees what they have mounted.
 */
async function whileUnmounted(
  { root }: Overlay,
  stack: Stack,
  change: (mount: (stack: Stack) => void) => Promise<void>,
): Promise<boolean> {
  const upper = filesOf(root, stack[0] ?? '')
  const { own, others } = mountsWhere((mount) => mount.upper === upper)
  if (own.length + others.length > 0) return false
  await change(() => undefined)
  return true
}
