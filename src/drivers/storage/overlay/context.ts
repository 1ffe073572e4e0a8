import { setTimeout as sleep } from 'node:timers/promises'
import { AwError, toAwError } from '../../../domain/errors.ts'
import type { Place, Reached } from '../../../ports/storage-driver.ts'
import { cloneMount, isInUse, mountPath, type OverlayLayers } from '../../../sys/fs/mounts.ts'
import { filesOf, isSingleLayer, missingLayer, retireWork } from './kernel/layers.ts'
import { lockMounts } from './kernel/mount-lock.ts'
import {
  closeMount,
  isOnlyStaleCopies,
  isTreeMounted,
  mountTree,
  openFrozen,
  openMounted,
  openUnmounted,
} from './kernel/mount-point.ts'
import { lockRecords, readRecord, type Stack } from './kernel/records.ts'
import { mountsBelow } from '../../../sys/trees/mounts-in.ts'
import { isFrozen, reachedOnHost, treeMissing, type TreeRoot } from '../root/tree-root.ts'
import { holdView, openWritableCopy } from './held-views.ts'

/** What all parts of the driver share. */
export interface Overlay {
  readonly root: string
  readonly trees: TreeRoot
  /** Whether trees are mounted on the host. An ordinary user's are in sandboxes, and where this process looks at them. */
  readonly mounts: boolean
  /** A new overlay, mounted nowhere; as `mounts.overlay`. */
  readonly open: (layers: OverlayLayers) => Promise<number>
  /** Whom new trees belong to, if not whoever runs this. */
  readonly owner: number | undefined
  /** How long to wait for others who look into a tree while none of them gets on. */
  readonly patienceMs: number
}

export const isMountedArea = ({ area }: Place): boolean => area === 'volumes' || area === 'tmp'

export function stackOf({ root }: Overlay, place: Place): Stack {
  const stack = readRecord(root, place)
  if (stack !== undefined) return stack
  throw treeMissing(place)
}

/** Says which layer is missing, if one is: the kernel, and whoever looks for a file in it, tell only that something is. */
export async function explainMissingLayer<T>(
  { root }: Overlay,
  places: readonly (Place | undefined)[],
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AwError) throw error
    for (const place of places) {
      const layer = place && missingLayer(root, readRecord(root, place) ?? [])
      if (place !== undefined && layer !== undefined) throw incomplete(place, layer, error)
    }
    throw error
  }
}

const incomplete = (place: Place, layer: string, cause: unknown): AwError =>
  new AwError('filesystem_error', `${place.area}/${place.name} is damaged: its layer ${layer} is missing`, {
    hint: 'What does not need that layer is whole; to see which snapshots are: aw verify',
    data: { place, layer, reason: 'damaged' },
    cause,
  })

/** Of a tree that can be frozen. */
export function layeredStackOf(overlay: Overlay, place: Place): Stack {
  const stack = stackOf(overlay, place)
  if (stack.length > 1) return stack
  throw new AwError('unsupported', `${place.area}/${place.name} is a plain tree, which has no snapshots`, {
    data: { place },
  })
}

/** Of a tree that never changes: no other may have one over it. */
export function frozenStackOf(overlay: Overlay, place: Place): Stack {
  if (isFrozen(place)) return stackOf(overlay, place)
  throw new AwError('snapshot_not_found', `${place.area}/${place.name} is no snapshot`, { data: { place } })
}

/** Where a tree is worked in that is a directory on this host. */
export function hostPath({ root, trees }: Overlay, place: Place, stack = readRecord(root, place)): string {
  return stack !== undefined && isSingleLayer(place, stack) ? filesOf(root, upperOf(stack)) : trees.path(place)
}

export const upperOf = (stack: Stack): string => stack[0] ?? ''

/** The directory of a tree's upper layer: what was written to it. */
export const upperFiles = ({ root }: Overlay, stack: Stack): string => filesOf(root, upperOf(stack))

/**
 * Mounts a tree if it is not: after a reboot, or after a process was killed. `workspace_active` if another mount
 * namespace has it: whoever is there goes on undisturbed. Answers where it is worked in.
 */
export async function ensureMounted(overlay: Overlay, place: Place): Promise<string> {
  const path = missingAt(overlay, place)
  if (path === undefined) return hostPath(overlay, place)
  using _ = await lockMounts(overlay.root, [place])
  await mountLocked(overlay, place)
  return path
}

/** Where a tree is to be mounted that is not. */
function missingAt(overlay: Overlay, place: Place): string | undefined {
  const stack = readRecord(overlay.root, place)
  const path = hostPath(overlay, place, stack)
  const isMountable = stack !== undefined && overlay.mounts && isMountedArea(place) && !isSingleLayer(place, stack)
  return isMountable && !isTreeMounted(path) ? path : undefined
}

/** The same for who has its lock. */
export async function mountLocked(overlay: Overlay, place: Place): Promise<void> {
  const { root } = overlay
  const path = missingAt(overlay, place)
  if (path === undefined) return
  const below = readRecord(root, place)?.[1]
  if (below !== undefined) await retireWork(root, below)
  const mount = async (): Promise<void> => {
    using records = await lockRecords(root, 'together')
    const now = records.read(place)
    if (now !== undefined) mountTree(root, path, now)
  }
  const soon = Date.now() + sandboxExitMs
  await retryWhileBusy(mount, async (error) => {
    if (toAwError(error).code !== 'workspace_active') return false
    return (await isOnlyStaleCopies(upperFiles(overlay, stackOf(overlay, place)), path)) || Date.now() < soon
  })
}

/**
 * A tree that is mounted on this host, held: it stays where it is as long as somebody looks into it. By its path it might be
 * taken off meanwhile, for as long as it takes to freeze it, and look empty.
 */
export async function holdMounted(overlay: Overlay, place: Place): Promise<Reached> {
  const until = Date.now() + unmountTimeoutMs
  for (;;) {
    const path = await ensureMounted(overlay, place)
    const stack = readRecord(overlay.root, place)
    if (stack === undefined || isSingleLayer(place, stack)) return reachedOnHost(path)
    const fd = openMounted(path)
    if (fd !== undefined) return { path: mountPath(fd), [Symbol.dispose]: () => closeMount(fd) }
    if (Date.now() > until) throw treeMissing(place)
    await sleep(1)
  }
}

/** A sandbox of the tree that ends has it mounted until it is gone. */
export const sandboxExitMs = 2000

/** How long the kernel may need to let go of what was unmounted: it waits for the disk, on which many may wait. */
export const unmountTimeoutMs = 30_000

async function retryWhileBusy<T>(
  open: () => T | Promise<T>,
  isBusy: (error: unknown) => boolean | Promise<boolean>,
): Promise<T> {
  const until = Date.now() + unmountTimeoutMs
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    try {
      return await open()
    } catch (error) {
      if (!(await isBusy(error)) || Date.now() > until) throw error
    }
    await sleep(pause)
  }
}

/** A tree without what others have mounted in it: all of it is seen. */
async function withClone<T>(path: string, use: (view: string) => Promise<T> | T): Promise<T> {
  const fd = cloneMount(path)
  try {
    return await use(mountPath(fd))
  } finally {
    closeMount(fd)
  }
}

/** Lets something look at a tree, mounted or not, frozen or not. */
export async function withView<T>(overlay: Overlay, place: Place, use: (view: string) => Promise<T> | T): Promise<T> {
  const stack = stackOf(overlay, place)
  if (!overlay.mounts) {
    await using copy = isFrozen(place) ? await openWritableCopy(overlay, stack) : undefined
    using tree = copy === undefined ? await holdView(overlay, place) : undefined
    return await use(copy?.path ?? tree?.path ?? '')
  }
  if (isMountedArea(place)) {
    using tree = await holdMounted(overlay, place)
    if (mountsBelow(tree.path).length === 0) return await use(tree.path)
    return await withClone(tree.path, use)
  }
  const fd =
    place.area === 'trash'
      ? await retryWhileBusy(() => openTrashed(overlay, place), isInUse)
      : openFrozen(overlay.root, stack)
  try {
    return await use(mountPath(fd))
  } finally {
    closeMount(fd)
  }
}

/** By its record at this moment: undelete may have moved the tree out of the trash, and then has it mounted for good. */
async function openTrashed({ root }: Overlay, place: Place): Promise<number> {
  using records = await lockRecords(root, 'together')
  const stack = records.read(place)
  if (stack === undefined) throw treeMissing(place)
  return openUnmounted(root, stack)
}
