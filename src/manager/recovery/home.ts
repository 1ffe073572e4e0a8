import type { Place } from '../../ports/storage-driver.ts'
import { basePlace, basesOf, eraseBase, isFinished, isOwnBase } from '../sources/base-trees.ts'
import type { Core, Request } from '../core.ts'
import { dropOwnBase, usedBases } from '../sources/own-base.ts'
import { eraseUnfinishedShared, repairShared, sharedTrees } from './recover-shared.ts'
import { closeLostSetups } from '../templates/setup/records.ts'

/**
 * Trees that are no workspace's: bases and shared areas; and set-ups of templates that nobody runs any more. One that was begun and of which the log has no outcome holds
 * nobody's work and goes, unless somebody is at it; one that the log does not know at all is told and kept.
 */
export async function reconcileHome(
  core: Core,
  request: Request,
  onDisk: readonly Place[],
): Promise<{ unknown: Place[] }> {
  await closeLostSetups(core, request)
  return {
    unknown: [...(await reconcileBases(core, request, onDisk)), ...(await reconcileShared(core, request, onDisk))],
  }
}

async function reconcileBases(core: Core, request: Request, onDisk: readonly Place[]): Promise<Place[]> {
  const present = new Set(onDisk.filter(({ area }) => area === 'bases').map(({ name }) => name))
  const known = await basesOf(core)
  const started = new Set<string>()
  for await (const event of core.store.read('home', { types: ['base_started'] }))
    if (event.type === 'base_started') started.add(event.data.base)
  for (const { base, group } of known.values()) {
    if (present.has(base)) continue
    using lock = await core.host.lock(`base-${group}`, { timeoutMs: 0 })
    if (lock !== undefined && !(await core.storage.exists(basePlace(base))))
      await eraseBase(core, request, base, 'lost')
  }
  await dropUnused(core, request, [...known.keys()].filter(isOwnBase))
  const unknown: Place[] = []
  for (const name of present) {
    if (known.has(name)) continue
    if (!started.has(name)) unknown.push(basePlace(name))
    else await eraseUnfinished(core, request, name)
  }
  return unknown
}

/** Those of single workspaces that none has, and that nobody is just making one with. */
async function dropUnused(core: Core, request: Request, bases: readonly string[]): Promise<void> {
  if (bases.length === 0) return
  const used = usedBases(await core.store.list())
  for (const base of bases) if (!used.has(base)) await dropOwnBase(core, request, base)
}

/** The lock is of its group, which a base of a folder or a template has a number behind. */
async function eraseUnfinished(core: Core, request: Request, base: string): Promise<void> {
  for (const group of [base, base.replace(/-[0-9]+$/, '')]) {
    using lock = await core.host.lock(`base-${group}`, { timeoutMs: 0 })
    if (lock === undefined) return
  }
  if (!(await isFinished(core, base))) await eraseBase(core, request, base, 'unfinished')
}

async function reconcileShared(core: Core, request: Request, onDisk: readonly Place[]): Promise<Place[]> {
  const areas = await sharedTrees(core)
  for (const area of areas.live.values()) await repairShared(core, area)
  const unknown: Place[] = []
  for (const place of onDisk) {
    const { area, name } = place
    if (!name.startsWith('shared_') || (area !== 'volumes' && area !== 'trash')) continue
    const started = areas.begun.get(name)
    if (area === 'volumes' && started !== undefined) await eraseUnfinishedShared(core, request, place, started)
    else if (!areas.live.has(name) && !(area === 'trash' && areas.trashed.has(name))) unknown.push(place)
  }
  return unknown
}
