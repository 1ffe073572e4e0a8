import { settleAll } from '../../../domain/settle-all.ts'
import type { Place } from '../../../ports/storage-driver.ts'
import { treeMissing } from '../root/tree-root.ts'
import { isMountedArea, mountLocked, type Overlay } from './context.ts'
import { lockMounts } from './kernel/mount-lock.ts'
import { clearMountPoint, moveMount } from './kernel/mount-point.ts'
import { lockRecords } from './kernel/records.ts'

/** Gives a tree another place. Who has files open in it stays in it, unless it leaves those that are mounted. */
export async function moveTree(
  overlay: Overlay,
  from: Place,
  to: Place,
  { later = false }: { later?: boolean | undefined } = {},
): Promise<void> {
  const { root, trees } = overlay
  using _ = overlay.mounts ? await lockMounts(root, [from, to].filter(isMountedArea)) : undefined
  using records = await lockRecords(root, 'together')
  if (records.read(from) === undefined || !records.move(from, to)) throw treeMissing(from)
  const durable = later ? Promise.resolve() : records.syncLater()
  await settleAll(durable, overlay.mounts ? follow() : undefined)

  async function follow(): Promise<void> {
    const [before, after] = [trees.path(from), trees.path(to)]
    const moved = isMountedArea(from) && isMountedArea(to) && moveMount(before, after)
    if (isMountedArea(from) && !moved) clearMountPoint(before)
    if (!moved) await mountLocked(overlay, to)
  }
}
