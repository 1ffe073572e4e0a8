import type { Place } from '../ports/storage-driver.ts'
import { newId, type Core, type Request } from './core.ts'

const prefix = 'scratch_'

/**
 * Work that needs a tree for a while that nobody else sees and that is no workspace's. It is named by a lock that is held
 * all the while, so that one whose owner died is told from one that is in use.
 */
export async function withScratch<T>(core: Core, request: Request, work: (place: Place) => Promise<T>): Promise<T> {
  const name = `${prefix}${newId(core, 'op').slice(3)}`
  using lock = await core.host.lock(name, { timeoutMs: 1000, signal: request.signal })
  const place: Place = { area: 'tmp', name }
  try {
    return await work(place)
  } finally {
    await core.storage.erase(place)
    lock?.retire()
  }
}

/** Erases those whose owner is gone; answers their names. */
export async function removeScratch(core: Core, onDisk: readonly Place[]): Promise<string[]> {
  const removed: string[] = []
  for (const place of onDisk) {
    if (place.area !== 'tmp' || !place.name.startsWith(prefix)) continue
    using lock = await core.host.lock(place.name, { timeoutMs: 0 })
    if (lock === undefined || !(await core.storage.exists(place))) continue
    await core.storage.erase(place)
    lock.retire()
    removed.push(place.name)
  }
  return removed
}
