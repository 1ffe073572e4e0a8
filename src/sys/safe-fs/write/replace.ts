import * as fs from 'node:fs'
import { hostFs } from '../../fs/host-fs.ts'
import { unlock } from '../../trees/unlock.ts'
import { at, errnoOf, readFlags } from '../descriptors.ts'
import { chownLikeParent } from './make-directory.ts'
import type { Root } from '../root.ts'
import type { ResolvedEntry } from '../resolved-entry.ts'
import { stage, type Staged } from './staged.ts'
import { keepAttributes } from '../read/xattr.ts'

export interface ReplaceOptions {
  readonly mode?: number | undefined
  readonly durable?: boolean | undefined
  /** Fail with EEXIST instead of replacing. */
  readonly keepExisting?: boolean | undefined
}

/**
 * Puts a file at a spot, whole or not at all: it is made beside it, without a name where that can be, and named when it is
 * whole. So the target is never written through: another name of the old file (a hard link) keeps the old content. What is
 * replaced passes on its owner, mode and attributes; what is new belongs to the directory's owner.
 */
export function replaceFile(
  root: Root,
  entry: ResolvedEntry,
  options: ReplaceOptions,
  fill: (fd: number) => void,
): fs.Stats {
  const mode = entry.stats ? 0o600 : (options.mode ?? root.fileMode ?? 0o666)
  using file = stage(entry.dir, mode, mode)
  fill(file.fd)
  return putInPlace(root, entry, options, file)
}

/** What is staged gets the attributes that it should have, then its name. */
export function putInPlace(root: Root, entry: ResolvedEntry, options: ReplaceOptions, file: Staged): fs.Stats {
  const { fd } = file
  if (entry.stats) withContentOf(entry, (old) => keepAttributes({ stats: old.stats, fd: old.fd }, fd))
  else chownLikeParent(entry.dir, fd)
  // A mode that was asked for holds whatever the umask.
  const asked = options.mode ?? (entry.stats ? undefined : root.fileMode)
  if (asked !== undefined) hostFs.fchmodSync(fd, asked & 0o777)
  if (options.durable) hostFs.fsyncSync(fd)
  file.put(entry, options.keepExisting === true)
  if (options.durable) syncDirectory(entry.dir)
  return fs.fstatSync(fd)
}

function syncDirectory(dir: number): void {
  const fd = fs.openSync(at(dir), readFlags | fs.constants.O_DIRECTORY)
  try {
    hostFs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Opens the regular file at a spot for reading, if it may be read: by its owner always. */
function withContentOf(entry: ResolvedEntry, act: (old: { stats: fs.Stats; fd: number | undefined }) => void): void {
  if (!entry.stats || entry.fd === undefined) return
  using _ = unlock(entry.fd, 0o400)
  let fd: number | undefined
  try {
    fd = fs.openSync(at(entry.fd), readFlags)
  } catch (error) {
    if (errnoOf(error) !== 'EACCES') throw error
  }
  try {
    act({ stats: entry.stats, fd })
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}
