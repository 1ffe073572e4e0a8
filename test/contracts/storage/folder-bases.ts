import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ImportOptions, ImportReport, Place } from '../../../src/ports/storage-driver.ts'
import type { StorageSubject } from '../storage.ts'
import type { Tree } from '../../support/tree.ts'

/** A folder that is imported again and again, each time from what it was the last time. */
export interface FolderBases {
  readonly folder: string
  /** Imports what the folder is now, holds it against an import of all of it, and makes it the next base. */
  readonly renew: (options?: Rules) => Promise<ImportReport>
  /** The same up to the import, for one that does not come to an end; the tree is thrown away. */
  readonly attempt: (options: Rules & Pick<ImportOptions, 'signal'>) => Promise<unknown>
  /** How many bases there were. */
  readonly count: () => number
}

export type Rules = Pick<ImportOptions, 'exclude' | 'ignored'>

export const base = (number: number): Place => ({ area: 'bases', name: `folder-${number}` })

const stage: Place = { area: 'tmp', name: 'stage' }
const whole: Place = { area: 'tmp', name: 'whole' }
const into = 'here'

/** What can be seen of a writable tree. */
export type Seen = (place: Place) => unknown

/** Longer than the kernel's clock takes to tell two changes apart. */
export const settle = (): Promise<void> => sleep(50)

export async function withFolder(
  subject: StorageSubject,
  tree: Tree,
  see: Seen = (place) => subject.read(place),
): Promise<FolderBases> {
  const { storage } = subject
  const folder = subject.folder(tree)
  let number = 0

  const staged = async (options: Rules & Pick<ImportOptions, 'signal'>): Promise<ImportReport> => {
    const since = number === 0 ? undefined : base(number)
    await storage.create(stage, { from: since })
    const index = { name: base(number + 1).name, since: since?.name }
    return storage.import(stage, { folder }, { into, ...options, index })
  }

  return {
    folder,
    count: () => number,
    async renew(options = {}) {
      const report = await staged(options)
      await storage.create(whole)
      const expected = await storage.import(whole, { folder }, { into, ...options })
      expect(await see(stage)).toEqual(await see(whole))
      const { files, bytes, skipped, excluded } = report
      expect({ files, bytes, skipped: byPath(skipped), excluded }).toEqual({
        files: expected.files,
        bytes: expected.bytes,
        skipped: byPath(expected.skipped),
        excluded: expected.excluded,
      })
      await storage.erase(whole)
      if (report.changed !== 0) {
        await storage.snapshot(stage, base(number + 1))
        number += 1
      }
      await storage.erase(stage)
      return report
    },
    async attempt(options) {
      const outcome = await staged(options).then(
        () => undefined,
        (error: unknown) => error,
      )
      await storage.erase(stage)
      return outcome
    },
  }
}

const byPath = (skipped: ImportReport['skipped']): ImportReport['skipped'] =>
  skipped.toSorted((a, b) => (a.path < b.path ? -1 : 1))
