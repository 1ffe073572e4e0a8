import type { DriverName } from '../../domain/config/storage-drivers.ts'
import { AwError } from '../../domain/errors.ts'
import type { StorageDriver } from '../../ports/storage-driver.ts'
import { lock, type HeldLock } from '../../sys/locks/lock.ts'

/** The storage drivers, and what each is opened with. */

export interface StorageLocation {
  readonly home: string
  readonly root: string
  /** The file of the home that ties the root to it. */
  readonly claim: string
  readonly guarded: readonly string[]
  readonly shortLived?: boolean | undefined
  /** Whom new trees belong to; see the capability. */
  readonly owner?: number | undefined
  readonly patienceMs?: number | undefined
}

export type Wanted = 'auto' | DriverName

/** Loaded when they are used: most homes use one. */
export const drivers: Readonly<Record<DriverName, (place: StorageLocation) => Promise<StorageDriver>>> = {
  btrfs: async (place) => (await import('./btrfs/driver.ts')).btrfsStorage(place),
  overlay: async (place) => (await import('./overlay/driver.ts')).overlayStorage(place),
  dir: async (place) => (await import('./dir/driver.ts')).dirStorage(place),
}

/** What `auto` tries, from the top; the first that works is taken. The last works everywhere. */
export const driverPreference: readonly DriverName[] = ['btrfs', 'dir']

export async function storageLock(file: string): Promise<HeldLock> {
  const held = await lock(file, { timeoutMs: 120_000 })
  if (held !== undefined) return held
  throw new AwError('workspace_busy', 'Another process is still setting up the storage of this home', {
    hint: 'Try again when it is done',
    data: { file },
  })
}
