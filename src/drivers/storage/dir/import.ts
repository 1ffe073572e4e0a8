import { AwError } from '../../../domain/errors.ts'
import type { ImportOptions, ImportReport, ImportSource, Place } from '../../../ports/storage-driver.ts'
import { importFrozen } from './store/create.ts'
import type { Manifest } from './store/manifest.ts'
import { apartFrom, linesBelow, partOf } from './store/part.ts'
import type { Store } from './store/store.ts'
import { copyTree } from '../../../sys/copy/tree.ts'
import { identitiesIn } from '../../../sys/copy/source-folder.ts'
import { fileExists, treeExists } from '../root/root.ts'
import { openInto } from '../../../sys/trees/open-into.ts'
import { importFolder } from '../root/import-folder.ts'
import { assertOptions } from '../root/import-options.ts'
import { isFrozen, missing } from '../root/tree-root.ts'

interface Importing {
  readonly store: Store
  readonly path: (place: Place) => string
  readonly guarded: readonly string[]
  /** Of a source that is frozen. */
  readonly from: Manifest | undefined
}

export async function importInto(
  { store, path, guarded, from }: Importing,
  place: Place,
  source: ImportSource,
  options: ImportOptions,
): Promise<ImportReport> {
  assertOptions(source, options, (base) => fileExists(path(base)))
  if (isFrozen(place) || !treeExists(path(place))) throw missing(place)
  if ('folder' in source) return importFolder({ root: store.root, guarded }, path(place), source.folder, options)
  const { into, beside, signal, onProgress } = options
  const below = source.path ?? '.'
  const folder = path(source.place)
  if (from === undefined && !treeExists(folder))
    throw new AwError('source_failed', `There is no tree ${folder}`, { data: { folder } })
  const part = from === undefined ? undefined : partOf(from.lines, below)
  if (from !== undefined && part === undefined)
    throw new AwError('file_not_found', `There is no ${below} in the snapshot`, { data: { path: below } })
  using target = openInto(path(place), into)
  if (part !== undefined) {
    const listed = from?.listed ? { ...from, lines: linesBelow(from.lines, below) } : undefined
    const report = await importFrozen(store, part.lines, target.path, { listed, beside, signal, onProgress })
    const apart = apartFrom(from?.lines ?? [], below)
    return { ...report, ...(part.single && { single: true }), ...(apart.length > 0 && { apart }) }
  }
  const copying = {
    signal,
    onProgress,
    own: true,
    where: 'anywhere' as const,
    path: below,
    guarded: identitiesIn(guarded),
  }
  return await copyTree(folder, target.path, copying)
}
