import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../domain/errors.ts'
import type { Place, Reached } from '../../../ports/storage-driver.ts'
import { isInUse, mountPath } from '../../../sys/fs/mounts.ts'
import { openInOtherNamespace } from './kernel/other-namespaces.ts'
import { dropLayer, filesOf, isSingleLayer, makeLayer, type NewLayer, retireWork, upperStack } from './kernel/layers.ts'
import { lockKey, lockMounts } from './kernel/mount-lock.ts'
import { closeMount } from './kernel/mount-point.ts'
import { lockRecords, readRecord, type Stack } from './kernel/records.ts'
import { waitForTurn } from '../../../sys/locks/queue-lock.ts'
import { reachedOnHost, treeMissing } from '../root/tree-root.ts'
import type { Overlay } from './context.ts'

/**
 * Looking into the trees of an ordinary user. The kernel lets nobody mount an upper layer that another has mounted: so
 * all of this process look through one mount; if a sandbox has it, through that one; and processes that want to look into
 * the same tree queue for it.
 */

interface Held {
  readonly fd: number
  /** Keeps other processes from mounting it; none where we look through the mount of a sandbox. */
  readonly turn: Disposable | undefined
  users: number
}

/** What this process has open, by the upper layer. */
const held = new Map<string, Promise<Held | undefined>>()

/** Whether this process looks into it right now. */
export const hasHeldView = (upper: string): boolean => held.has(upper)

export async function holdView(overlay: Overlay, place: Place): Promise<Reached> {
  const { root } = overlay
  for (;;) {
    const stack = readRecord(root, place)
    if (stack === undefined) throw treeMissing(place)
    if (isSingleLayer(place, stack)) return reachedOnHost(filesOf(root, stack[0] ?? ''))
    const upper = filesOf(root, stack[0] ?? '')
    const opening = held.get(upper) ?? open(overlay, place, upper)
    const one = await opening
    // The last user may have let go of it meanwhile.
    if (one !== undefined && held.get(upper) === opening) return used(upper, one)
  }
}

function used(upper: string, one: Held): Reached {
  one.users += 1
  let over = false
  return {
    path: mountPath(one.fd),
    [Symbol.dispose]() {
      if (over) return
      over = true
      one.users -= 1
      if (one.users > 0) return
      held.delete(upper)
      closeMount(one.fd)
      one.turn?.[Symbol.dispose]()
    },
  }
}

function open(overlay: Overlay, place: Place, upper: string): Promise<Held | undefined> {
  const opening = hold(overlay, place, upper)
  const forget = (): void => {
    if (held.get(upper) === opening) held.delete(upper)
  }
  held.set(upper, opening)
  opening.then((one) => one ?? forget(), forget)
  return opening
}

/** Undefined if the tree has another upper layer by now. */
async function hold(overlay: Overlay, place: Place, upper: string): Promise<Held | undefined> {
  const turn = await lockViews(overlay, place)
  let keep = false
  try {
    // A sandbox that is just starting or ending has it for a moment.
    const until = Date.now() + overlay.patienceMs
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      const fd = await mountAt(overlay, place, upper)
      if (fd === 'changed') return undefined
      keep = fd !== undefined
      if (fd !== undefined) return { fd, turn, users: 0 }
      const elsewhere = openInOtherNamespace(upper)
      if (elsewhere !== undefined) return { fd: elsewhere, turn: undefined, users: 0 }
      if (Date.now() > until) throw busy(place)
      await sleep(pause)
    }
  } finally {
    if (!keep) turn[Symbol.dispose]()
  }
}

/** Until it is disposed of, no other process looks into the tree; whoever asks first is next. */
export async function lockViews({ root, patienceMs }: Overlay, place: Place): Promise<Disposable> {
  const turn = await waitForTurn(join(root, 'records', '.looks'), lockKey(place, 40), { patienceMs })
  if (turn === undefined) throw busy(place)
  return turn
}

async function mountAt(
  { root, open: mount }: Overlay,
  place: Place,
  upper: string,
): Promise<number | 'changed' | undefined> {
  using _ = await lockMounts(root, [place])
  const below = readRecord(root, place)?.[1]
  if (below !== undefined) await retireWork(root, below)
  using records = await lockRecords(root, 'together')
  const stack = records.read(place)
  if (stack === undefined || filesOf(root, stack[0] ?? '') !== upper) return 'changed'
  try {
    return await mount(upperStack(root, stack))
  } catch (error) {
    if (isInUse(error)) return undefined
    throw error
  }
}

const busy = (place: Place): AwError =>
  new AwError('workspace_busy', `Another process has the tree ${place.area}/${place.name} open`, {
    hint: 'Try again when its copy or comparison is done, or wait longer: --set locks.timeout_ms=60000',
    data: { place },
  })

/**
 * A frozen tree, with a layer over it that goes when it is closed: what its owner may not read is made readable there.
 */
export async function openWritableCopy(
  { root, open: mount }: Overlay,
  stack: Stack,
): Promise<AsyncDisposable & { readonly path: string }> {
  const layer = await newLayer(root, stack)
  const drop = async (): Promise<void> => {
    await dropLayer(root, layer.id)
    layer[Symbol.dispose]()
  }
  try {
    const fd = await mount(upperStack(root, [layer.id, ...stack]))
    return {
      path: mountPath(fd),
      async [Symbol.asyncDispose]() {
        closeMount(fd)
        await drop()
      },
    }
  } catch (error) {
    await drop()
    throw error
  }
}

async function newLayer(root: string, stack: Stack): Promise<NewLayer> {
  using _ = await lockRecords(root, 'together')
  return makeLayer(root, { like: filesOf(root, stack[0] ?? '') })
}
