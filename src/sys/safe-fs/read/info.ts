import * as fs from 'node:fs'
import { type ParsedPath, staysInside } from '../../../domain/paths.ts'
import type { FileInfo, FileKind } from '../../../ports/files.ts'
import { toAwError } from '../../../domain/errors.ts'
import { at, errnoOf, type Name } from '../descriptors.ts'
import type { Root } from '../root.ts'
import type { ResolvedEntry } from '../resolved-entry.ts'
import { withResolvedEntry } from '../walk.ts'

export function kindOf(entry: fs.Stats | fs.Dirent | fs.Dirent<NonSharedBuffer>): FileKind {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'directory'
  if (entry.isSymbolicLink()) return 'symlink'
  if (entry.isFIFO()) return 'fifo'
  if (entry.isSocket()) return 'socket'
  return entry.isBlockDevice() ? 'block' : 'char'
}

export const infoOf = (path: string, stats: fs.Stats): FileInfo => ({
  path,
  kind: kindOf(stats),
  size: stats.size,
  mode: stats.mode & 0o7777,
  mtime: isoTime(stats.mtimeMs),
  links: stats.nlink,
  uid: stats.uid,
  gid: stats.gid,
})

/** A file's time may be one that no calendar reaches. */
const farthest = 8.64e15
const isoTime = (ms: number): string => new Date(Math.max(-farthest, Math.min(farthest, ms))).toISOString()

/** As the caller knows it; where `..` was in it, as the kernel understood it. */
export const shownPath = (parsed: ParsedPath, names: readonly string[]): string =>
  (parsed.names.includes('..') ? names : parsed.names).join('/')

export const withRebased = (parsed: ParsedPath, info: FileInfo): FileInfo =>
  parsed.rebased ? { ...info, rebased: true } : info

/** What a link says and where it leads. Undefined if it is no link any more. */
export function linkInfo(
  root: Root,
  dir: number,
  name: Name,
  names: readonly string[],
): Pick<FileInfo, 'target' | 'escapes'> | undefined {
  try {
    const target = fs.readlinkSync(at(dir, name), { encoding: 'buffer' }).toString()
    // A name that is not UTF-8 cannot be resolved by what is shown of it.
    return { target, escapes: typeof name !== 'string' || escapes(root, names) }
  } catch (error) {
    if (errnoOf(error) === 'EINVAL' || errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function escapes(root: Root, names: readonly string[]): boolean {
  try {
    return withResolvedEntry(root, { names, directory: false, rebased: false }, { follow: true }, () => false)
  } catch (error) {
    return !staysInside(toAwError(error))
  }
}

/** Of what is there now, a link not followed. */
export function resolvedEntryInfo(root: Root, parsed: ParsedPath, spot: ResolvedEntry, stats: fs.Stats): FileInfo {
  const info = infoOf(shownPath(parsed, spot.names), stats)
  if (info.kind !== 'symlink') return withRebased(parsed, info)
  return withRebased(parsed, { ...info, ...linkInfo(root, spot.dir, spot.name, spot.names) })
}
