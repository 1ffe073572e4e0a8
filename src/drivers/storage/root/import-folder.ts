import type { ImportOptions, ImportReport } from '../../../ports/storage-driver.ts'
import { copyFolder } from './copy-folder.ts'
import { assertSource, identitiesIn, realpathOf } from '../../../sys/copy/source-folder.ts'
import { openInto } from '../../../sys/trees/open-into.ts'

/** `import` of a user's folder. @param tree the directory of a writable tree */
export async function importFolder(
  { root, guarded }: { readonly root: string; readonly guarded: readonly string[] },
  tree: string,
  folder: string,
  { into, ...options }: ImportOptions,
): Promise<ImportReport> {
  assertSource(folder, guarded)
  using directory = openInto(tree, into)
  const source = { root, folder: realpathOf(folder), guarded: identitiesIn(guarded) }
  return await copyFolder(source, directory.path, options)
}
