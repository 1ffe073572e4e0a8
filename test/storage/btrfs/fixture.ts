import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { btrfsStorage } from '../../../src/drivers/storage/btrfs/driver.ts'
import type { Place, StorageDriver } from '../../../src/ports/storage-driver.ts'

export const isRoot = process.getuid?.() === 0
export const volume: Place = { area: 'volumes', name: 'ws_1' }
export const snap = (number: number): Place => ({ area: 'snapshots', name: `sn_${number}` })

export interface Opened {
  readonly storage: StorageDriver
  readonly base: string
  readonly root: string
  readonly path: (place: Place) => string
}

/** On a btrfs that goes with the tests: nothing is removed. */
export function openBtrfs(base = mkdtempSync(join(tmpdir(), 'aw-btrfs-'))): Opened {
  const root = join(base, 'storage')
  const storage = btrfsStorage({ root, claim: join(base, 'storage.id') })
  return { storage, base, root, path: (place) => storage.attachment(place).path }
}
