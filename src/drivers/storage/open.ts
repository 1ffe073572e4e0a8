import type { DriverName } from '../../domain/config/storage-drivers.ts'
import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import type { StorageDriver } from '../../ports/storage-driver.ts'
import { readPool } from './pool/record.ts'
import { claimDriver, dropClaim, readClaim } from './root/claim.ts'
import { readMarker } from './root/root.ts'
import { drivers, type StorageLocation, storageLock, type Wanted } from './registry.ts'

/** Which driver keeps the trees of a home: chosen once, when its storage root is made, and kept from then on. */

/**
 * Opens the storage of a home. The first time it is chosen and made; afterwards this reads one small file, and another
 * driver than the one it was made by is an error. A pool that is not mounted is mounted if we may; if not, the driver
 * answers everything with `storage_unavailable`, and the log can still be read.
 */
export async function openStorage(place: StorageLocation, wanted: Wanted): Promise<StorageDriver> {
  const claim = readClaim(place.claim)
  if (claim?.made !== true || claim.leaving) return openFirstTime(place, wanted)
  const driver = known(claim.driver ?? 'dir')
  assertWanted(place, driver, wanted)
  if (driver === 'btrfs' && readMarker(place.root) === undefined) {
    const { remountPool } = await import('./pool/home-pool.ts')
    await remountPool(place)
  }
  return drivers[driver](place)
}

/** Everybody else waits until the choice is made: it must be the same for all. */
async function openFirstTime(place: StorageLocation, wanted: Wanted): Promise<StorageDriver> {
  {
    using _ = await storageLock(join(place.home, 'locks', 'storage'))
    const claim = readClaim(place.claim)
    if (claim?.leaving) throw removalIncomplete()
    if (claim?.made !== true) return await createStorage(place, wanted, claim?.driver)
  }
  return openStorage(place, wanted)
}

/** @param begun chosen by somebody who did not get as far as to say that it is made */
async function createStorage(
  place: StorageLocation,
  wanted: Wanted,
  begun: string | undefined,
): Promise<StorageDriver> {
  if (readPool(place.home) !== undefined) {
    assertWanted(place, 'btrfs', wanted)
    const { requirePool } = await import('./pool/home-pool.ts')
    requirePool(place)
    return makeStorage(place, 'btrfs')
  }
  const there = readMarker(place.root)
  if (begun !== undefined && there === undefined) dropClaim(place.claim)
  return makeStorage(
    place,
    there === undefined || begun === undefined ? await choose(place, wanted) : known(begun),
    wanted,
  )
}

/** Ties the root to the home and makes it. The caller holds the lock and has made sure that the driver works. */
export async function makeStorage(
  place: StorageLocation,
  driver: DriverName,
  wanted: Wanted = driver,
): Promise<StorageDriver> {
  const counts = known(claimDriver(place.claim, driver))
  assertWanted(place, counts, wanted)
  return drivers[counts](place)
}

async function choose(place: StorageLocation, wanted: Wanted): Promise<DriverName> {
  if (wanted === 'dir') return wanted
  const { bestDriver, assertWorks } = await import('./choose-driver.ts')
  return wanted === 'auto' ? bestDriver(place) : assertWorks(place, wanted)
}

function assertWanted(place: StorageLocation, driver: DriverName, wanted: Wanted): void {
  if (wanted === 'auto' || wanted === driver) return
  throw new AwError('unsupported', `The storage of this home was made by the driver ${driver}, not by ${wanted}`, {
    hint:
      `Set storage.driver to ${driver} or auto; to change it, take a new home, or run ` +
      `aw init --storage ${wanted} while there is no tree in this one`,
    data: { driver, wanted, root: place.root },
  })
}

function known(name: string): DriverName {
  if (Object.hasOwn(drivers, name)) return name as DriverName
  throw new AwError('home_version', `The storage of this home was made by a driver ${name}, which is not known here`, {
    hint: 'Use a newer version of aw',
    data: { driver: name },
  })
}

const removalIncomplete = (): AwError =>
  new AwError('storage_unavailable', 'The storage of this home was not removed to the end', {
    hint: 'Run aw deinit --yes again, or aw init',
  })
