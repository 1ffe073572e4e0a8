import { AwError } from '../../domain/errors.ts'
import type { ImportOptions, ImportReport, ImportSource, Place } from '../../ports/storage-driver.ts'
import { copyTree } from '../../sys/copy-tree.ts'
import { assertSource, identitiesIn, realpathOf } from '../../sys/source-folder.ts'
import { treeExists } from '../../sys/storage-root.ts'
import { openInto } from '../../sys/trees/open-into.ts'
import type { TreeRoot } from './tree-root.ts'

type Source = ImportSource & {
  /** Where the place's tree is read, if not there. */
  readonly tree?: string | undefined
}

/** `import` of a driver whose writable trees are directories of the host. */
export async function importTree(
  trees: TreeRoot,
  place: Place,
  source: Source,
  { into, signal, onProgress }: ImportOptions,
): Promise<ImportReport> {
  if ('folder' in source) assertSource(source.folder, trees.guarded)
  const folder = 'folder' in source ? realpathOf(source.folder) : (source.tree ?? trees.path(source.place))
  const target = trees.found(place)
  if (!treeExists(folder)) throw new AwError('source_failed', `There is no tree ${folder}`, { data: { folder } })
  using directory = openInto(target, into)
  return await copyTree(folder, directory.path, {
    signal,
    onProgress,
    own: 'place' in source,
    path: 'place' in source ? source.path : undefined,
    guarded: identitiesIn(trees.guarded),
  })
}
