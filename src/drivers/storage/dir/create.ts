import * as fs from 'node:fs'
import { join } from 'node:path'
import type { ImportReport } from '../../../ports/storage-driver.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { moveTree } from '../root/root.ts'
import { gatherContents, type GatherOptions } from './store/gather-contents.ts'
import type { Manifest } from './store/manifest.ts'
import { materialise, type MaterialiseOptions } from './store/materialise.ts'
import { isOlderThanFlush } from '../../../sys/trees/write-out.ts'
import { type KnownEntry, noSweep, writeIndex } from './store/scan/stat-index.ts'
import type { Store } from './store/store.ts'

/** Makes a writable tree that equals a frozen one: whole and durable at `path`, or not there at all; see `gatherContents`. */
export async function createFrom(
  store: Store,
  manifest: Manifest,
  path: string,
  options: Omit<MaterialiseOptions, 'onMade'> & GatherOptions,
): Promise<void> {
  using _ = await store.enter(options.signal)
  await using contents = await gatherContents(store, manifest, options)
  const building = store.incoming('tree')
  hostFs.mkdirSync(building, 0o700)
  try {
    const top = fs.openSync(building, directoryFlags)
    try {
      const made: KnownEntry[] = []
      const onMade = (one: KnownEntry): unknown => made.push(one)
      await materialise(contents, top, contents.lines, { ...options, onMade, durable: true })
      await store.flush()
      // What was made a moment ago is not remembered: the next to change it could do so in the same tick of the clock.
      const now = Date.now()
      const settled = made.filter(({ print }) => isOlderThanFlush(print, now))
      const sweep = manifest.listed ? noSweep : store.sweep()
      writeIndex(store.indexFile(top), store.incoming('index'), sweep, settled)
    } finally {
      fs.closeSync(top)
    }
    await moveTree(building, path)
  } catch (error) {
    await removeTree(join(store.root, 'incoming'), building.slice(building.lastIndexOf('/') + 1))
    throw error
  }
}

/** Puts lines of a manifest, see `partOf`, into a directory that is there. @param options.listed them in a listed tree */
export async function importFrozen(
  store: Store,
  lines: readonly string[],
  target: string,
  options: Omit<MaterialiseOptions, 'onMade'> &
    Pick<GatherOptions, 'beside'> & { readonly listed?: Manifest | undefined },
): Promise<ImportReport> {
  using _ = await store.enter(options.signal)
  await using contents = await gatherContents(store, options.listed ?? { consistency: 'atomic', lines }, options)
  const top = fs.openSync(target, directoryFlags)
  try {
    return await materialise(contents, top, lines, options)
  } finally {
    fs.closeSync(top)
  }
}
