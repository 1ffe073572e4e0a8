import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { overlayStorage } from '../../../src/drivers/storage/overlay/driver.ts'
import type { Place, StorageDriver } from '../../../src/ports/storage-driver.ts'
import { letGo } from '../unmount-below.ts'

/** A storage of overlays that is gone after the test, and places in it. */

export const volume: Place = { area: 'volumes', name: 'ws' }
export const fork = (n: number): Place => ({ area: 'volumes', name: `fork_${n}` })
export const snap = (n: number): Place => ({ area: 'snapshots', name: `sn_${n}` })

interface Subject {
  readonly base: string
  readonly storage: StorageDriver
  readonly path: (place: Place, name?: string) => string
}

/** @param name of the directory that it is in */
export function subject(name = ''): Subject {
  const top = fs.mkdtempSync(join(tmpdir(), 'aw-overlay-'))
  const base = join(top, name)
  fs.mkdirSync(base, { recursive: true })
  onTestFinished(() => {
    letGo(top)
    // The kernel keeps a directory in there that its owner may not enter.
    if (process.getuid?.() !== 0) execFileSync('chmod', ['-R', 'u+rwx', top])
    fs.rmSync(top, { recursive: true })
  })
  const storage = open(base)
  return { base, storage, path: (place, name = '') => join(storage.attachment(place).path, name) }
}

export const open = (base: string): StorageDriver =>
  overlayStorage({ root: join(base, 'storage'), claim: join(base, 'id') })
