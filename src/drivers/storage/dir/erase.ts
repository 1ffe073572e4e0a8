import { join } from 'node:path'
import type { EraseOptions, Place } from '../../../ports/storage-driver.ts'
import { forgetVolume, type Store, unlinkIfPresent } from './store/store.ts'
import { isListed } from './store/manifest.ts'
import { sweep } from './store/sweep.ts'
import { syncDirectory } from '../../../sys/fs/directories.ts'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'

/** The manifest goes first, for good; then the contents that it alone referred to. */
export async function eraseFrozen(
  store: Store,
  file: string,
  areas: readonly string[],
  { signal, more = false }: EraseOptions = {},
): Promise<void> {
  const listed = ignoreErrors(['ENOENT'], () => isListed(file)) ?? false
  unlinkIfPresent(file)
  if (more) return
  syncDirectory(join(file, '..'))
  if (!listed) await sweep(store, areas, signal)
}

/** A tree that is a directory, and what is remembered of it. */
export async function eraseTree(
  store: Store,
  place: Place,
  { signal, more = false }: EraseOptions = {},
): Promise<void> {
  const area = join(store.root, place.area)
  forgetVolume(store, join(area, place.name))
  await removeTree(area, place.name, { signal })
  // Not every file system flushes this with the log that tells of it.
  if (place.area !== 'tmp' && !more) syncDirectory(area)
}
