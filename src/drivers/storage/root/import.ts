import { AwError } from '../../../domain/errors.ts'
import { folderRules } from '../../../domain/sources/folder-rules.ts'
import type { ImportOptions, ImportReport, ImportSource, Place } from '../../../ports/storage-driver.ts'
import { assertSource, identitiesIn } from '../../../sys/copy/source-folder.ts'
import { copyTree } from '../../../sys/copy/tree.ts'
import { native } from '../../../sys/syscalls/native.ts'
import type { Where } from '../../../sys/trees/attributes.ts'
import { newFolderIndex, readFolderIndex } from '../../../sys/trees/folder-index.ts'
import { openInto } from '../../../sys/trees/open-into.ts'
import { canWriteOut, flushAll, flushBeforeRead, hasFineTimestamps } from '../../../sys/trees/write-out.ts'
import { treeExists } from './root.ts'

/** What the drivers' `import` has in common. */

/**
 * A tree of our own has neither rules nor an index. The name of an index can be that of a file, and is not that of a base
 * which is there: its index tells what it holds.
 */
export function assertImportOptions(
  source: ImportSource,
  { exclude, ignored, index }: ImportOptions,
  exists: (place: Place) => boolean,
): void {
  const isPlain = exclude === undefined && ignored === undefined && index === undefined
  if ('place' in source && !isPlain)
    throw new AwError('invalid_input', 'Only of a folder can something be left out or remembered')
  if (index === undefined) return
  for (const name of [index.name, index.since ?? index.name])
    if (!/^[a-z0-9-]+$/.test(name))
      throw new AwError('invalid_input', `"${name}" cannot name an index: small letters, digits and dashes can`)
  const base: Place = { area: 'bases', name: index.name }
  if (exists(base))
    throw new AwError('file_exists', `There is already a base ${index.name}`, {
      hint: 'Run: aw recover',
      data: { place: base },
    })
}

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
  const folder = assertSource(from, guarded)
  using target = openInto(tree, into)
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
  const isTrusted = native() !== undefined && hasFineTimestamps(folder)
  const found = since === undefined || !isTrusted ? undefined : await readFolderIndex(root, since)
  const before = since === undefined ? undefined : (found ?? ('unknown' as const))
  if (!isTrusted) return await copyTree(folder, target.path, { ...common, before })
  const writer = newFolderIndex(root, name)
  const flushedAt = Date.now()
  const clean = canWriteOut(folder) ? flushBeforeRead(folder) : undefined
  if (clean === undefined) await flushAll(folder)
  const report = await copyTree(folder, target.path, { ...common, before, index: writer, flushedAt, clean })
  // The tree is still the one that the old index tells of.
  if (report.changed !== 0) await writer.write()
  return report
}

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
