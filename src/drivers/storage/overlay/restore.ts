import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { toAwError } from '../../../domain/errors.ts'
import type { Frozen, Place, RestoreOptions } from '../../../ports/storage-driver.ts'
import { filesOf, forgetLayer, makeLayer, retireWork, syncLayers } from './kernel/layers.ts'
import { areStaleCopies } from './kernel/stale-mounts.ts'
import { closeMount, foreignMountsOf, mountExclusively } from './kernel/mount-point.ts'
import { lockRecords, recordTaken, type Stack } from './kernel/records.ts'
import {
  ensureMounted,
  frozenStackOf,
  layeredStackOf,
  type Overlay,
  sandboxExitMs,
  stackOf,
  unmountTimeoutMs,
  upperFiles,
  upperOf,
} from './context.ts'
import { countChanges } from './diff.ts'
import { treeInUse } from './live-snapshot.ts'
import { changeWhileUnmounted } from './while-unmounted.ts'
import { hasHeldView } from './held-views.ts'

/**
 * The volume gets a new upper layer over the layers of the snapshot; what it was made of before becomes `keep`. Both
 * happen in one step: the record of the new tree is made at `keep`, then the two records change places. The new layer is
 * named after `keep`, so that it can be told after a crash whether that step was made.
 */
export async function restoreTree(
  overlay: Overlay,
  [volume, to, keep]: readonly [Place, Place, Place],
  options: RestoreOptions = {},
): Promise<Frozen | undefined> {
  if (options.resume !== undefined && !(await finish(overlay, volume, keep))) return undefined
  if (options.resume === undefined) await exchange(overlay, [volume, to, keep])
  const changed = await countChanges(overlay, options.since, keep, options)
  return { mechanism: 'overlay exchange', consistency: 'atomic', changed }
}

async function exchange(overlay: Overlay, [volume, to, keep]: readonly [Place, Place, Place]): Promise<void> {
  const { root } = overlay
  const [before, wanted] = [layeredStackOf(overlay, volume), frozenStackOf(overlay, to)]
  await ensureMounted(overlay, volume)
  let wasTakenOff = false
  const make = async (mount: (stack: Stack) => void): Promise<void> => {
    wasTakenOff = true
    using records = await lockRecords(root, 'together')
    if (records.read(keep) !== undefined) throw recordTaken(keep)
    const proof = overlay.mounts ? mountExclusively(root, before) : undefined
    if (overlay.mounts && proof === undefined) throw treeInUse(volume)
    try {
      forgetLayer(root, layerOf(keep))
      using layer = makeLayer(root, { id: layerOf(keep), like: filesOf(root, upperOf(wanted)) })
      const next: Stack = [layer.id, ...wanted]
      mount(next)
      syncLayers(root, [layer.id])
      records.add(keep, next)
      records.exchange(keep, volume)
    } finally {
      if (proof !== undefined) closeMount(proof)
    }
    records.sync()
  }
  const tidy = (): Promise<void> => retireWork(root, upperOf(before))
  const attempt = (): Promise<boolean> =>
    changeWhileUnmounted(overlay, volume, before, { make, tidy }).catch((error: unknown) => {
      if (toAwError(error).code === 'workspace_active') return false
      throw error
    })
  // Nobody works in it, the caller has seen to that; but a sandbox of another tree may just be starting.
  const begun = Date.now()
  const upper = upperFiles(overlay, before)
  for (let pause = 2; !(await attempt()); pause = Math.min(pause * 2, 50)) {
    const others = foreignMountsOf(upper)
    const isStarting = others.length > 0 && areStaleCopies(overlay.trees.path(volume), others)
    // Whoever has it when it was taken off here is seen, or is a sandbox that has ended: the kernel then waits for the disk.
    const isLeaving = others.length === 0 && wasTakenOff
    const isLookedInto = hasHeldView(upper)
    const limitMs = isStarting || isLeaving ? unmountTimeoutMs : isLookedInto ? overlay.patienceMs : sandboxExitMs
    if (Date.now() - begun > limitMs) throw treeInUse(volume, others)
    wasTakenOff = false
    await sleep(pause)
  }
}

/** A name that fits no other layer: those of others are shorter. */
const layerOf = ({ area, name }: Place): string =>
  `r${createHash('sha256').update(`${area}/${name}`).digest('hex').slice(0, 15)}`

/** False if the volume is what it was; then what was prepared is removed. */
async function finish(overlay: Overlay, volume: Place, keep: Place): Promise<boolean> {
  const { root } = overlay
  const done = upperOf(stackOf(overlay, volume)) === layerOf(keep)
  if (!done) {
    using records = await lockRecords(root, 'alone')
    if (upperOf(records.read(keep) ?? []) === layerOf(keep)) records.remove(keep)
    records.sync()
    forgetLayer(root, layerOf(keep))
  }
  await ensureMounted(overlay, volume)
  return done
}
