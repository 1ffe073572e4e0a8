import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../domain/errors.ts'
import type { Place, Reached } from '../../../ports/storage-driver.ts'
import { isInUse, viewOf } from '../../../sys/mounts.ts'
import { openElsewhere } from '../../../sys/overlay-elsewhere.ts'
import {
  dropLayer,
  filesOf,
  isBare,
  makeLayer,
  type NewLayer,
  retireWork,
  upperStack,
} from '../../../sys/overlay-layers.ts'
import { lockMounts } from '../../../sys/overlay-mount-lock.ts'
import { closeMount } from '../../../sys/overlay-mountpoint.ts'
import { lockRecords, readRecord, type Stack } from '../../../sys/overlay-records.ts'
import { missing, onHost } from '../tree-root.ts'
import type { Overlay } from './context.ts'

/**
 * Looking into the trees of an ordinary user. The kernel lets nobody mount an upper layer that another has mounted: so
 * all of this process look through one mount; if a sandbox has it, through that one; and another process, which looks
 * into the tree for a moment, is waited for.
 */

interface Held {
  readonly fd: number
  users: number
}

/** What this process has open, by the upper layer. */
const held = new Map<string, Promise<Held | undefined>>()

/** Whether this process looks into it right now. */
export const isHeld = (upper: string): boolean => held.has(upper)

export async function reachHeld(overlay: Overlay, place: Place): Promise<Reached> {
  const { root } = overlay
  for (;;) {
    const stack = readRecord(root, place)
    if (stack === undefined) throw missing(place)
    if (isBare(place, stack)) return onHost(filesOf(root, stack[0] ?? ''))
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
    path: viewOf(one.fd),
    [Symbol.dispose]() {
      if (over) return
      over = true
      one.users -= 1
      if (one.users > 0) return
      held.delete(upper)
      closeMount(one.fd)
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

/** How long others may look into the tree before we give up. */
const patienceMs = 10_000

/** Undefined if the tree has another upper layer by now. */
async function hold(overlay: Overlay, place: Place, upper: string): Promise<Held | undefined> {
  const until = Date.now() + patienceMs
  for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
    const fd = await mountAt(overlay, place, upper)
    if (fd === 'changed') return undefined
    const found = fd ?? openElsewhere(upper)
    if (found !== undefined) return { fd: found, users: 0 }
    if (Date.now() > until) throw busy(place)
    await sleep(pause)
  }
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
    hint: 'Try again when it is done: a copy or a comparison, say',
    data: { place },
  })

/**
 * A frozen tree, with a layer over it that goes when it is closed: what its owner may not read is made readable there.
 */
export async function openCopy(
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
      path: viewOf(fd),
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
