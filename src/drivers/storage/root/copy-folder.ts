import { folderRules } from '../../../domain/sources/folder-rules.ts'
import type { ImportOptions, ImportReport } from '../../../ports/storage-driver.ts'
import { copyTree } from '../../../sys/copy/tree.ts'
import { newFolderIndex, readFolderIndex } from '../../../sys/trees/folder-index.ts'
import { native } from '../../../sys/syscalls/native.ts'
import { canWriteOut, cleaning, flushAll, keepsTimes } from '../../../sys/trees/write-out.ts'

interface Folder {
  /** Of the storage: where indexes are kept. */
  readonly root: string
  readonly folder: string
  /** What is never opened, as `device:inode`. */
  readonly guarded: ReadonlySet<string>
}

/**
 * Copies a user's folder into a directory of a tree; see `import` of the storage port. With an index, what is there
 * already is brought up to date. An index is neither read nor written where it could not be trusted.
 */
export async function copyFolder(
  { root, folder, guarded }: Folder,
  to: string,
  { exclude, ignored, index, signal, onProgress }: Omit<ImportOptions, 'into'>,
): Promise<ImportReport> {
  const hasRules = (exclude?.length ?? 0) > 0 || (ignored ?? 'all') !== 'all'
  const common = {
    ofUser: true,
    guarded,
    durable: true,
    signal,
    onProgress,
    rules: hasRules ? (read: Parameters<typeof folderRules>[1]) => folderRules({ exclude, ignored }, read) : undefined,
  }
  if (index === undefined) return copyTree(folder, to, common)
  const { name, since } = index
  const isTrusted = native() !== undefined && keepsTimes(folder)
  const found = since === undefined || !isTrusted ? undefined : await readFolderIndex(root, since)
  const before = since === undefined ? undefined : (found ?? ('unknown' as const))
  if (!isTrusted) return copyTree(folder, to, { ...common, before })
  const writer = newFolderIndex(root, name)
  const flushedAt = Date.now()
  const clean = canWriteOut(folder) ? cleaning(folder) : undefined
  if (clean === undefined) await flushAll(folder)
  const report = await copyTree(folder, to, { ...common, before, index: writer, flushedAt, clean })
  // The tree is still the one that the old index tells of.
  if (report.changed !== 0) await writer.write()
  return report
}
