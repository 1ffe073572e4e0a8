import { AwError } from '../../../domain/errors.ts'
import type { ImportOptions, ImportReport } from '../../../ports/storage-driver.ts'
import { identitiesIn } from '../../../sys/copy/source-folder.ts'
import { copyTree } from '../../../sys/copy/tree.ts'
import type { Where } from '../../../sys/trees/attributes.ts'
import { openInto } from '../../../sys/trees/open-into.ts'
import { treeExists } from './root.ts'

/** Another place's tree, or one path of it. */
export interface TreeSource {
  /** Where the tree is read. */
  readonly tree: string
  readonly path?: string | undefined
  /** Of its attributes. */
  readonly where?: Where | undefined
}

/** `import` of another place's tree that is a directory. @param tree the directory of a writable tree */
export async function importTree(
  { guarded }: { readonly guarded: readonly string[] },
  tree: string,
  { tree: from, path, where }: TreeSource,
  { into, signal, onProgress }: ImportOptions,
): Promise<ImportReport> {
  if (!treeExists(from)) throw noSource(from)
  using target = openInto(tree, into)
  const options = { signal, onProgress, own: true, where, path, guarded: identitiesIn(guarded) }
  return await copyTree(from, target.path, options)
}

export const noSource = (folder: string): AwError =>
  new AwError('source_failed', `There is no tree ${folder}`, { data: { folder } })
