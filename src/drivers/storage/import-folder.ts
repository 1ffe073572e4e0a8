import { AwError } from '../../domain/errors.ts'
import type { ImportOptions, ImportReport } from '../../ports/storage-driver.ts'
import { copyFolder } from '../../sys/copy-folder.ts'
import { assertSource, identitiesIn, realpathOf } from '../../sys/source-folder.ts'
import { openInto } from '../../sys/trees/open-into.ts'

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

/** A tree of our own has neither rules nor an index. */
export function assertWhole({ exclude, ignored, index }: ImportOptions): void {
  if (exclude === undefined && ignored === undefined && index === undefined) return
  throw new AwError('invalid_input', 'Only of a folder can something be left out or remembered')
}
