import { AwError } from '../../../domain/errors.ts'
import { mountedAt } from './mount.ts'
import { interrupted, mountHint, mountPool } from './pool.ts'
import { openPoolLocation } from './location.ts'
import { readPool } from './record.ts'
import { type StorageLocation, storageLock } from '../registry.ts'

/** The pool of a home that is being opened. */

/**
 * After a reboot: mounts the pool if there is one and we may. If it cannot be mounted the home opens all the same, for
 * its log; every call of the driver then says what to do, and `aw init` and `aw doctor` say why.
 */
export async function remountPool({ home, root }: StorageLocation): Promise<void> {
  if (process.getuid?.() !== 0 || readPool(home)?.state !== 'ready') return
  using place = openPoolLocation(home, root)
  using _ = await storageLock(place.lock)
  try {
    mountPool(place)
  } catch (error) {
    if (!(error instanceof AwError)) throw error
  }
}

/** Before the first use: the pool must be there, or the root would be made on the disk below it. */
export function requirePool({ home, root }: StorageLocation): void {
  const record = readPool(home)
  if (record !== undefined && record.state !== 'ready') throw interrupted(record.state)
  if (process.getuid?.() === 0) {
    using place = openPoolLocation(home, root)
    mountPool(place)
    return
  }
  if (mountedAt(root)?.type === 'btrfs') return
  throw new AwError('storage_unavailable', `The pool of this home is not mounted at ${root}`, {
    hint: mountHint(home),
    data: { root },
  })
}
