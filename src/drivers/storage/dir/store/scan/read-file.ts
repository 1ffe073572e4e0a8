import * as fs from 'node:fs'
import { refusal } from '../../../../../sys/safe-fs/errors.ts'
import type { ReadOptions } from '../../../../../ports/storage-driver.ts'
import { readFromFolder } from '../gather-contents.ts'
import { entryAt, type Manifest } from '../manifest.ts'
import { hashSteps } from '../../../../../sys/trees/content-hash.ts'
import { runToCompletion } from '../../../../../sys/safe-fs/coroutine.ts'
import { manifestDamaged } from '../manifest.ts'
import { openObjects } from '../objects.ts'
import type { Store } from '../store.ts'

/** Names only: nothing that climbs or stands still. */
const isPlain = (path: string): boolean => path.split('/').every((name) => name !== '' && name !== '.' && name !== '..')

/** Of a frozen tree. */
export function readFrozenFile(
  store: Store,
  manifest: Manifest,
  path: string,
  { maxBytes, link = false, beside }: ReadOptions,
): Buffer {
  const entry = isPlain(path) ? entryAt(manifest, path) : undefined
  if (entry === undefined) throw refusal('file_not_found', path)
  if (entry.kind !== (link ? 'symlink' : 'file')) throw refusal('not_a_file', path)
  if (entry.size > maxBytes) throw refusal('file_too_large', path)
  if (link) return Buffer.from(entry.content, 'latin1')
  if (entry.size === 0) return Buffer.alloc(0)
  const object = openObjects(store.root).path(entry.content)
  if (manifest.listed && !fs.existsSync(object)) return readFromFolder(entry, beside)
  const fd = fs.openSync(object, 'r')
  try {
    if (runToCompletion(hashSteps(fd)).hash !== entry.content)
      throw manifestDamaged(path, 'its content is not what it was')
    const bytes = Buffer.alloc(entry.size)
    fs.readSync(fd, bytes, 0, bytes.length, 0)
    return bytes
  } finally {
    fs.closeSync(fd)
  }
}
