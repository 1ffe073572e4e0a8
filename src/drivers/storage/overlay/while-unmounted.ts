import { setTimeout as sleep } from 'node:timers/promises'
import type { Place } from '../../../ports/storage-driver.ts'
import { findMounts, isInUse, mounts, syncFileSystemAsync } from '../../../sys/fs/mounts.ts'
import { filesOf, isSingleLayer, upperStack } from './kernel/layers.ts'
import { lockMounts } from './kernel/mount-lock.ts'
import { closeMount, unmountIfIdle } from './kernel/mount-point.ts'
import type { Stack } from './kernel/records.ts'
import { mountLocked, type Overlay } from './context.ts'
import { hasHeldView, lockViews } from './held-views.ts'

/** What is done to a tree that nobody uses. */
interface Change {
  /** Changes what it is made of. It is given a way to make the overlay that the tree is to become. */
  readonly make: (mount: (stack: Stack) => void) => Promise<void>
  /** When nothing has the layers mounted that it was made of. */
  readonly tidy: () => Promise<void>
}

/**
 * Unmounts a tree that nobody uses, changes it, and mounts it again. False if somebody uses the tree: then it is mounted
 * as it was.
 */
export async function changeWhileUnmounted(
  overlay: Overlay,
  place: Place,
  stack: Stack,
  change: Change,
): Promise<boolean> {
  if (isSingleLayer(place, stack)) return changeWhileBuilding(overlay, change)
  const { root, trees } = overlay
  if (!overlay.mounts && hasHeldView(filesOf(root, stack[0] ?? ''))) return false
  // Processes that look into it are waited for; whoever comes now waits until it is whole again.
  using turn = overlay.mounts ? undefined : await lockViews(overlay, place)
  using _ = await lockMounts(root, [place])
  if (turn !== undefined) return await whileUnmounted(overlay, stack, change)
  const path = trees.path(place)
  if (!(await unmountIfIdle(root, path, stack))) return false
  let made: number | undefined
  const close = (): void => {
    if (made !== undefined) closeMount(made)
    made = undefined
  }
  try {
    await change.make((next) => {
      made = mounts.overlay(upperStack(root, next))
    })
    await change.tidy()
    if (made !== undefined) mounts.attach(made, path)
    return true
  } catch (error) {
    close()
    await mountLocked(overlay, place)
    if (isInUse(error)) return false
    throw error
  } finally {
    close()
  }
}

/** Nobody but its builder knows it, who waits; and nothing but a flush makes it durable. */
async function changeWhileBuilding({ root }: Overlay, { make, tidy }: Change): Promise<boolean> {
  await syncFileSystemAsync(root)
  await make(() => undefined)
  await tidy()
  return true
}

/** As long as we have it mounted ourselves, and nowhere, nobody else can. */
async function whileUnmounted(overlay: Overlay, stack: Stack, { make, tidy }: Change): Promise<boolean> {
  const proof = await mountForUsAlone(overlay, stack)
  if (proof === undefined) return false
  try {
    await make(() => undefined)
  } finally {
    closeMount(proof)
  }
  await tidy()
  return true
}

/** How long the kernel may need to let go of a tree that nobody looks into any more. */
const timeoutMs = 2000

/** The tree, mounted for us alone; undefined if a sandbox has it, or somebody in this process. */
async function mountForUsAlone({ root, open }: Overlay, stack: Stack): Promise<number | undefined> {
  const upper = filesOf(root, stack[0] ?? '')
  const until = Date.now() + timeoutMs
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    if (hasHeldView(upper)) return undefined
    try {
      return await open(upperStack(root, stack))
    } catch (error) {
      if (!isInUse(error)) throw error
    }
    const { own, others } = findMounts((mount) => mount.upper === upper)
    if (own.length + others.length > 0 || Date.now() > until) return undefined
    await sleep(pause)
  }
}
