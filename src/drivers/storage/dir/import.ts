import { AwError } from '../../../domain/errors.ts'
import type { ImportOptions, ImportReport } from '../../../ports/storage-driver.ts'
import { openInto } from '../../../sys/trees/open-into.ts'
import { noSource, type TreeSource } from '../root/import.ts'
import { importFrozen } from './create.ts'
import { readManifest } from './store/manifest.ts'
import { linesBelow, linkedOutside, subtreeOf } from './store/subtree.ts'
import type { Store } from './store/store.ts'

/** `import` of a snapshot, or of one path of it. @param tree the directory of a writable tree */
export async function importSnapshot(
  store: Store,
  tree: string,
  { tree: file, path = '.' }: TreeSource,
  { into, beside, signal, onProgress }: ImportOptions,
): Promise<ImportReport> {
  const from = readManifest(file)
  if (from === undefined) throw noSource(file)
  const part = subtreeOf(from.lines, path)
  if (part === undefined) throw new AwError('file_not_found', `There is no ${path} in the snapshot`, { data: { path } })
  using target = openInto(tree, into)
  const listed = from.listed ? { ...from, lines: linesBelow(from.lines, path) } : undefined
  const report = await importFrozen(store, part.lines, target.path, { listed, beside, signal, onProgress })
  const apart = linkedOutside(from.lines, path)
  return { ...report, ...(part.single && { single: true }), ...(apart.length > 0 && { apart }) }
}
