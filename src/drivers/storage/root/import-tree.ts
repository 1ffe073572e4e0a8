import { AwError } from '../../../domain/errors.ts'
import type { ImportOptions, ImportReport, ImportSource, Place } from '../../../ports/storage-driver.ts'
import { copyTree } from '../../../sys/copy/tree.ts'
import { identitiesIn } from '../../../sys/copy/source-folder.ts'
import { treeExists } from './root.ts'
import type { Where } from '../../../sys/trees/attributes.ts'
import { openInto } from '../../../sys/trees/open-into.ts'
import { importFolder } from './import-folder.ts'
import { assertOptions } from './import-options.ts'
import type { TreeRoot } from './tree-root.ts'

type Source = ImportSource & {
  /** Where the place's tree is read, if not there. */
  readonly tree?: string | undefined
  /** Of its attributes. */
  readonly where?: Where | undefined
}

/** `import` of a driver whose writable trees are directories of the host. */
export async function importTree(
  trees: TreeRoot,
  place: Place,
  source: Source,
  options: ImportOptions,
): Promise<ImportReport> {
  assertOptions(source, options, trees.exists)
  const target = trees.found(place)
  if ('folder' in source) return importFolder(trees, target, source.folder, options)
  const { into, signal, onProgress } = options
  const folder = source.tree ?? trees.path(source.place)
  if (!treeExists(folder)) throw new AwError('source_failed', `There is no tree ${folder}`, { data: { folder } })
  using directory = openInto(target, into)
  const guarded = identitiesIn(trees.guarded)
  const { path, where } = source
  return await copyTree(folder, directory.path, { signal, onProgress, own: true, where, path, guarded })
}
