import type { FileHandle } from '../ports/files.ts'
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
