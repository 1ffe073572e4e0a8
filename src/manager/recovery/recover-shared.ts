import type { SharedArea } from '../../domain/workspace/shared-areas.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { appendHome } from '../kernel/home-stream.ts'
import { trashOf } from '../kernel/places.ts'
import { sharedAreas, sharedPath, sharedPlace } from '../shared/shared-areas.ts'

/** Trees of shared areas by name, as the log tells: those that are there, were removed, or were begun and no more. */
export async function sharedTrees(core: Core) {
  const areas = await sharedAreas(core)
  const live = new Map<string, SharedArea>()
  for (const area of areas.live.values()) live.set(area.tree, area)
  const begun = new Map<string, string>()
  for await (const event of core.store.read('home', { types: ['shared_started', 'shared_created'] })) {
    if (event.type === 'shared_started') begun.set(event.data.tree, event.data.name)
    if (event.type === 'shared_created') begun.delete(event.data.tree)
  }
  return { live, trashed: areas.trashed, begun }
}

/** Whoever removed it, or brought it back, died halfway: it is where it was, and can be found there. */
export async function repairShared(core: Core, area: SharedArea): Promise<void> {
  const place = sharedPlace(area)
  // Where it is may be another place once it has come back.
  const target = (): string => core.storage.attachment(place).path
  const path = sharedPath(core, area.name)
  const isWhole = async (): Promise<boolean> =>
    (await core.storage.exists(place)) && (await core.host.published(path)) === target()
  if (await isWhole()) return
  using lock = await core.host.lock(`shared-${area.name}`, { timeoutMs: 0 })
  if (lock === undefined || !(await sharedAreas(core)).live.has(area.name) || (await isWhole())) return
  if (await core.storage.exists(trashOf(area.tree))) await core.storage.move(trashOf(area.tree), place)
  if (await core.storage.exists(place)) await core.host.publish(path, target())
}

/** Nobody was told of it, so it is empty. */
export async function eraseUnfinishedShared(core: Core, request: Request, place: Place, name: string): Promise<void> {
  using lock = await core.host.lock(`shared-${name}`, { timeoutMs: 0 })
  if (lock === undefined || (await sharedTrees(core)).live.has(place.name)) return
  await core.host.unpublish(sharedPath(core, name), core.storage.attachment(place).path, `${core.home}/shared`)
  await core.storage.erase(place)
  await appendHome(core, newEvent(core, request, 'leftovers_removed', { trees: [place.name] }))
}
