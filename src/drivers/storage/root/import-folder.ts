import { folderRules } from '../../../domain/sources/folder-rules.ts'
import type { ImportOptions, ImportReport } from '../../../ports/storage-driver.ts'
import { assertSource, identitiesIn, realpathOf } from '../../../sys/copy/source-folder.ts'
import { copyTree } from '../../../sys/copy/tree.ts'
import { native } from '../../../sys/syscalls/native.ts'
import { newFolderIndex, readFolderIndex } from '../../../sys/trees/folder-index.ts'
import { openInto } from '../../../sys/trees/open-into.ts'
import { canWriteOut, cleaning, flushAll, keepsTimes } from '../../../sys/trees/write-out.ts'

/**
 * `import` of a user's folder. With an index, what is there already is brought up to date. An index is neither read nor
 * written where it could not be trusted.
 *
 * @param root of the storage: where indexes are kept
 * @param tree the directory of a writable tree
 */
export async function importFolder(
  { root, guarded }: { readonly root: string; readonly guarded: readonly string[] },
  tree: string,
  from: string,
  { into, exclude, ignored, index, signal, onProgress }: ImportOptions,
): Promise<ImportReport> {
  assertSource(from, guarded)
  using target = openInto(tree, into)
  const folder = realpathOf(from)
  const hasRules = (exclude?.length ?? 0) > 0 || (ignored ?? 'all') !== 'all'
  const common = {
    ofUser: true,
    guarded: identitiesIn(guarded),
    durable: true,
    signal,
    onProgress,
    rules: hasRules ? (read: Parameters<typeof folderRules>[1]) => folderRules({ exclude, ignored }, read) : undefined,
  }
  if (index === undefined) return await copyTree(folder, target.path, common)
  const { name, since } = index
  const isTrusted = native() !== undefined && keepsTimes(folder)
  const found = since === undefined || !isTrusted ? undefined : await readFolderIndex(root, since)
  const before = since === undefined ? undefined : (found ?? ('unknown' as const))
  if (!isTrusted) return await copyTree(folder, target.path, { ...common, before })
  const writer = newFolderIndex(root, name)
  const flushedAt = Date.now()
  const clean = canWriteOut(folder) ? cleaning(folder) : undefined
  if (clean === undefined) await flushAll(folder)
  const report = await copyTree(folder, target.path, { ...common, before, index: writer, flushedAt, clean })
  // The tree is still the one that the old index tells of.
  if (report.changed !== 0) await writer.write()
  return report
}
