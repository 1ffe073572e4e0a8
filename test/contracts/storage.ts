import { afterEach, describe, expect, it } from 'vitest'
import type { ErrorCode } from '../../src/domain/errors.ts'
import type { Place, StorageDriver } from '../../src/ports/storage-driver.ts'
import type { Edit } from '../support/edits.ts'
import { attributesContract } from './storage/attributes.ts'
import { capabilitiesContract } from './storage/capabilities.ts'
import { diffContract } from './storage/diff.ts'
import { exactDiffContract, renameContract } from './storage/diff-exact.ts'
import { fidelityContract } from './storage/fidelity.ts'
import { foreignContract } from './storage/foreign.ts'
import { forkContract } from './storage/fork.ts'
import { importUpdateHostContract } from './storage/import-update-host.ts'
import { importUpdateContract } from './storage/import-update.ts'
import { importContract } from './storage/import.ts'
import { keepingContract } from './storage/frozen-trees.ts'
import { liveContract } from './storage/live.ts'
import { mountedContract } from './storage/mounted.ts'
import { placesContract } from './storage/places.ts'
import { readContract } from './storage/read.ts'
import { restoreContract } from './storage/restore.ts'
import { snapshotContract } from './storage/snapshot.ts'
import type { Tree } from '../support/tree.ts'

/** A driver with a root of its own, and what tests need to know about its trees. */
export interface StorageSubject extends Disposable {
  readonly storage: StorageDriver
  /** A second driver on the same root, as after a restart. */
  readonly reopen: () => StorageDriver | Promise<StorageDriver>
  /** Makes a folder where the driver can import from, and answers its path. */
  readonly folder: (tree: Tree) => string
  /** What its owner does in such a folder. */
  readonly editFolder: (folder: string, ...edits: Edit[]) => void
  /** What is at a writable place, with times and modes. */
  readonly read: (place: Place) => Tree
  readonly write: (place: Place, path: string, content: string) => void
  /** What an agent does in a writable tree. */
  readonly edit: (place: Place, ...edits: Edit[]) => void
  /** Takes the root's marker away, as when its mount is missing. */
  readonly unmount: () => void
}

export type OpenStorage = () => Promise<StorageSubject>

export const staged: Place = { area: 'tmp', name: 'op_1' }
export const volume: Place = { area: 'volumes', name: 'ws_1' }
export const trashed: Place = { area: 'trash', name: 'ws_1.1' }

export const code = (expected: ErrorCode): unknown => expect.objectContaining({ code: expected })

type Suite = (open: OpenStorage) => void

const suites: Readonly<Record<string, Suite>> = {
  places: placesContract,
  import: importContract,
  'import by difference': importUpdateContract,
  snapshot: snapshotContract,
  'create from a snapshot': forkContract,
  restore: restoreContract,
  diff: diffContract,
  'exact diff': exactDiffContract,
  read: readContract,
  keeping: keepingContract,
}

const hostSuites: Readonly<Record<string, Suite>> = {
  attributes: attributesContract,
  capabilities: capabilitiesContract,
  fidelity: fidelityContract,
  'what others put there': foreignContract,
  'import by difference, from outside': importUpdateHostContract,
  'live trees': liveContract,
  'mounts of others': mountedContract,
  renames: renameContract,
}

/** Everything `ports/storage-driver.ts` promises, for any driver. */
export function storageContract(name: string, makeStorage: OpenStorage): void {
  runSuites(name, makeStorage, suites)
}

/** The same, for drivers whose trees only this process gets to. */
export function heldStorageContract(name: string, makeStorage: OpenStorage): void {
  runSuites(name, makeStorage, {
    ...suites,
    capabilities: capabilitiesContract,
    'what others put there': foreignContract,
  })
}

/** The same, and what can be seen only from outside: for drivers whose trees are directories of the host. */
export function hostStorageContract(name: string, makeStorage: OpenStorage): void {
  runSuites(name, makeStorage, { ...suites, ...hostSuites })
}

function runSuites(name: string, makeStorage: OpenStorage, chosen: Readonly<Record<string, Suite>>): void {
  describe(`storage driver: ${name}`, () => {
    const subjects: StorageSubject[] = []
    const open: OpenStorage = async () => {
      const subject = await makeStorage()
      subjects.push(subject)
      return subject
    }
    afterEach(async () => {
      for (const subject of subjects.splice(0)) {
        await subject.storage[Symbol.asyncDispose]()
        subject[Symbol.dispose]()
      }
    })

    it('says its name and can tell whether it works', async () => {
      const { storage } = await open()
      expect(storage.name).toBe(name)
      expect(await storage.probe()).toMatchObject({ usable: true })
      expect(await storage.list()).toEqual([])
    })
    describe.each(Object.entries(chosen))('%s', (_, suite) => {
      suite(open)
    })
  })
}
