import { basename, dirname, join } from 'node:path'
import type { DriverName } from '../../domain/config/storage-drivers.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { Probe, StorageCapabilities } from '../../ports/storage-driver.ts'
import { ensureDirectory } from '../../sys/fs/directories.ts'
import { fileSystemOf, nearestExisting } from '../../sys/fs/file-system.ts'
import { removeTree } from '../../sys/safe-fs/index.ts'
import { driverPreference, drivers, type StorageLocation } from './registry.ts'

/** Finds out which drivers work where a home keeps its trees, by trying them there. The caller holds the home's lock. */

export interface DriverTrial {
  readonly probe: Probe
  readonly capabilities?: StorageCapabilities
}

const isRoot = (): boolean => process.getuid?.() === 0

/** What need not even be tried. */
const knownUnusable: Partial<Record<DriverName, (place: StorageLocation) => string | undefined>> = {
  btrfs: ({ root }) => {
    const kind = fileSystemOf(root)
    return kind === 'btrfs' ? undefined : `${nearestExisting(root)} is on ${kind}, not on btrfs`
  },
}

/** The first of the ladder that works and whose trees everybody can see. */
export async function bestDriver(place: StorageLocation): Promise<DriverName> {
  const last = driverPreference.at(-1) ?? 'dir'
  for (const name of driverPreference) {
    if (name === last) break
    const { probe, capabilities } = await tryDriver(place, name)
    if (probe.usable && capabilities?.visibility === 'host') return name
  }
  return last
}

/** Never another driver instead. */
export async function assertWorks(place: StorageLocation, name: DriverName): Promise<DriverName> {
  const { probe } = await tryDriver(place, name)
  if (probe.usable) return name
  throw new AwError('unsupported', `The storage driver ${name} does not work here: ${probe.reasons.join('; ')}`, {
    hint: probe.hint ?? driverHint(name),
    data: { driver: name, reasons: probe.reasons },
  })
}

/** What would make a driver work. */
export const driverHint = (name: DriverName): string => {
  if (name === 'btrfs')
    return isRoot()
      ? 'aw init --storage btrfs makes a pool in an image file; or put the home on btrfs'
      : 'Ask root for aw init --storage btrfs --home HOME, or put the home on btrfs'
  if (name === 'overlay')
    return isRoot()
      ? 'The kernel must be able to mount overlayfs here'
      : 'The kernel must let ordinary users mount overlayfs in a user namespace; or use the storage driver dir'
  return 'Choose another storage.root'
}

const triedDrivers = new Map<string, Promise<DriverTrial>>()

/** After the storage was made or removed, other drivers may work. */
export const forgetTrials = (): void => triedDrivers.clear()

/** Tries a driver in a root of its own, on the same file system; remembered as long as the process lives. */
export function tryDriver(place: StorageLocation, name: DriverName): Promise<DriverTrial> {
  const key = `${name} ${place.root}`
  const before = triedDrivers.get(key)
  if (before !== undefined) return before
  const trial = attempt(place, name)
  triedDrivers.set(key, trial)
  return trial
}

async function attempt(place: StorageLocation, name: DriverName): Promise<DriverTrial> {
  const reason = knownUnusable[name]?.(place)
  if (reason !== undefined) return { probe: { usable: false, reasons: [reason], hint: driverHint(name) } }
  const near = nearestExisting(place.root)
  // One for each driver, and one trial at a time: so what a crash has left is found again by who can remove it.
  const scratch = join(near, `.aw-trial-${name}`)
  const inside = { ...place, root: join(scratch, 'root'), claim: join(scratch, 'id') }
  try {
    if (nearestExisting(scratch) === scratch) await clear(inside, name)
    ensureDirectory(scratch, 0o700)
    try {
      await using driver = await drivers[name](inside)
      return { probe: await driver.probe(), capabilities: driver.capabilities }
    } finally {
      await removeTree(near, basename(scratch))
    }
  } catch (error) {
    return { probe: { usable: false, reasons: [toAwError(error).message], hint: driverHint(name) } }
  }
}

/** Of a trial that did not come to its end; some trees only their driver can remove. */
async function clear(place: StorageLocation, name: DriverName): Promise<void> {
  const scratch = dirname(place.root)
  try {
    await using driver = await drivers[name](place)
    for (const leftover of await driver.list()) await driver.erase(leftover)
  } catch {
    // It was not made, or is no longer whole: then there are no such trees in it.
  }
  await removeTree(dirname(scratch), basename(scratch))
}
