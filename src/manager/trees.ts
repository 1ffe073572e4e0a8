import type { FileHandle, PathOptions } from '../ports/files.ts'
import type { Place } from '../ports/storage-driver.ts'
import type { Core } from './core.ts'

/** A handle for aw itself: nothing in the tree is protected from it. */
export async function openTree(core: Core, place: Place): Promise<FileHandle> {
  await core.storage.ready(place)
  const { settings } = core.config
  return core.files.open(core.storage.attachment(place).path, {
    fileMode: settings['workspaces.file_mode'],
    dirMode: settings['workspaces.dir_mode'],
  })
}

/** Of a file; nothing of whatever else is there, or in the way. */
export function sizeAt(tree: FileHandle, path: string, absolute: PathOptions['absolute']): number {
  try {
    const { kind, size } = tree.stat(path, { absolute })
    return kind === 'file' ? size : 0
  } catch {
    return 0
  }
}

/** Of a file, or of all that are below a directory. */
export function sizeBelow(tree: FileHandle, path: string, absolute: PathOptions['absolute']): number {
  const { exists, path: from } = tree.resolve(path, { absolute })
  if (!exists || tree.stat(from).kind !== 'directory') return sizeAt(tree, path, absolute)
  return tree
    .tree(from)
    .entries.filter(({ kind }) => kind === 'file')
    .reduce((sum, entry) => sum + sizeAt(tree, from === '' ? entry.path : `${from}/${entry.path}`, 'reject'), 0)
}
