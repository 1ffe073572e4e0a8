import { join } from 'node:path'
import type { EraseOptions, GrowthWatch, Place } from '../../../ports/storage-driver.ts'
import { filesOf, removeRetiredLayers, retireLayers } from './kernel/layers.ts'
import { clearMountPoint, sweepMountPoints } from './kernel/mount-point.ts'
import { lockRecords } from './kernel/records.ts'
import { measureTree, removeTree } from '../../../sys/safe-fs/index.ts'
import { hostPath, isMountedArea, type Overlay, stackOf } from './context.ts'

/** Removes a tree, and the layers that no other needs; also those that a process has left that was killed. */
export async function eraseTree(
  { root, trees, mounts }: Overlay,
  place: Place,
  { more = false, ...options }: EraseOptions,
): Promise<void> {
  if (place.area === 'found') return void (await removeTree(join(root, place.area), place.name, options))
  {
    using records = await lockRecords(root, 'alone')
    if (mounts && isMountedArea(place)) clearMountPoint(trees.path(place))
    if (records.read(place) !== undefined) records.remove(place)
    if (more) return
    records.tidy()
    // Before the layers go: a record that comes back must find them.
    records.sync()
    retireLayers(root, records)
    const known = records.all().map(([{ area, name }]) => `${area}/${name}`)
    for (const area of mounts ? ['volumes', 'tmp'] : []) {
      const names = known.filter((name) => name.startsWith(`${area}/`)).map((name) => name.slice(area.length + 1))
      sweepMountPoints(root, area, new Set(names))
    }
  }
  await removeRetiredLayers(root, options)
}

/** What the layers hold that no other tree uses. */
export async function ownBytes(
  overlay: Overlay,
  place: Place,
  limits: { maxFiles?: number | undefined },
): Promise<number> {
  const { root } = overlay
  const stack = stackOf(overlay, place)
  using records = await lockRecords(root, 'together')
  const others = records.all().filter(([{ area, name }]) => area !== place.area || name !== place.name)
  const shared = new Set(others.flatMap(([, layers]) => layers))
  const own = stack.filter((id) => !shared.has(id))
  return await bytesOf(root, own, limits)
}

/** What the layers hold that were put over those of another tree; null if it does not stand on them any more. */
export async function bytesBeyond(overlay: Overlay, place: Place, base: Place): Promise<number | null> {
  using records = await lockRecords(overlay.root, 'together')
  const own = layersOver(records.read(place), records.read(base))
  return own === undefined ? null : await bytesOf(overlay.root, own)
}

/** The layers over those of its base; where it stands on none, the tree as it is mounted, or its uppermost layer. */
export async function growingLayers(
  overlay: Overlay,
  place: Place,
  base: Place | undefined,
): Promise<GrowthWatch | undefined> {
  using records = await lockRecords(overlay.root, 'together')
  const stack = records.read(place) ?? []
  const own = base === undefined ? undefined : layersOver(stack, records.read(base))
  if (own !== undefined) return { paths: own.map((id) => filesOf(overlay.root, id)), whole: false }
  const [only, ...lower] = stack
  if (overlay.mounts) return { paths: [hostPath(overlay, place, stack)], whole: true }
  if (only === undefined) return undefined
  const paths = [filesOf(overlay.root, only)]
  return lower.length === 0
    ? { paths, whole: true }
    : { paths, whole: false, since: await bytesOf(overlay.root, [only]) }
}

function layersOver(
  stack: readonly string[] = [],
  below: readonly string[] | undefined,
): readonly string[] | undefined {
  const own = stack.slice(0, stack.length - (below?.length ?? 0))
  return below === undefined || below.some((id, i) => stack[own.length + i] !== id) ? undefined : own
}

async function bytesOf(root: string, layers: readonly string[], limits = {}): Promise<number> {
  let bytes = 0
  for (const id of layers) bytes += (await measureTree(filesOf(root, id), limits)).bytes
  return bytes
}
