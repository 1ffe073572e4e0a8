import { hasCode } from '../../../../../sys/syscalls/errno.ts'
import type { Coroutine } from '../../../../../sys/safe-fs/coroutine.ts'
import { decodeStat, kindOf, statEntry } from '../../../../../sys/trees/stat.ts'
import { namesIn } from '../../../../../sys/trees/walk.ts'
import { isOlderThanFlush } from '../../../../../sys/trees/write-out.ts'
import type { ScanOptions } from './changed-entries.ts'
import { nameOf, openDirectories, parentOf } from '../../../../../sys/trees/directory-cache.ts'
import { readEntry } from './read-entry.ts'
import type { KnownEntry } from './stat-index.ts'

/**
 * Whether everything in a tree still is what it was told to be, so that no second reading is needed: each thing is looked
 * at once more. A directory that did not change has the same names in it, so none is listed. A look tells only of changes
 * that were not made in the tick of the clock of the one before.
 */
export function* isUnchanged(top: number, entries: ReadonlyMap<string, KnownEntry>): Coroutine<boolean> {
  using directories = openDirectories(top)
  let looks = 0
  try {
    for (const [path, { print }] of entries) {
      const seen = path === '.' ? statEntry(top, '') : statEntry(directories.holding(path), nameOf(path))
      if (seen?.print !== print) return false
      if (++looks % 64 === 0) yield
    }
    return true
  } catch (error) {
    // One that only its owner can open, by changing its mode; or it is gone.
    if (hasCode(error, 'EACCES', 'ENOENT', 'ENOTDIR', 'ELOOP')) return false
    throw error
  }
}

/** More are not worth a way of their own: all of it is read again. */
const maxRecent = 1000

/**
 * What was changed a moment ago, by path: of that a look tells nothing. Undefined if there is much of it, or something was
 * written to while it was read, or may not be read as it is.
 */
export function recentlyChanged(
  entries: ReadonlyMap<string, KnownEntry>,
  { flushedAt }: Pick<ScanOptions, 'flushedAt'>,
): string[] | undefined {
  const recent: string[] = []
  for (const [path, { print }] of entries) {
    if (print === '' || recent.length > maxRecent) return undefined
    if (isOlderThanFlush(print, flushedAt)) continue
    if (isLocked(print)) return undefined
    recent.push(path)
  }
  return recent
}

/** To read it, its owner has to change its mode, and so what the kernel tells of it. */
function isLocked(print: string): boolean {
  const { kind, mode } = decodeStat(print)
  return (kind === 'file' && (mode & 0o400) === 0) || (kind === 'directory' && (mode & 0o500) !== 0o500)
}

/** Whether some things are as they were when they were read; a directory also if there are the same names in it. */
export function* rereadMatches(
  top: number,
  entries: ReadonlyMap<string, KnownEntry>,
  paths: readonly string[],
  options: ScanOptions,
): Coroutine<boolean> {
  using directories = openDirectories(top)
  const inside = namesBelow(entries, paths)
  try {
    for (const path of paths) {
      const known = entries.get(path)
      const [directory, name] = path === '.' ? [top, ''] : [directories.holding(path), nameOf(path)]
      const now = yield* readEntry({ path, name, directory, print: known?.print ?? '' }, options)
      if (now?.line !== known?.line || now?.print !== known?.print) return false
      const names = inside.get(path)
      if (names !== undefined && !isListed(namesIn(directories.open(path)), names, path === '.' ? options.exclude : []))
        return false
      yield
    }
    return true
  } catch (error) {
    if (hasCode(error, 'EACCES', 'ENOENT', 'ENOTDIR', 'ELOOP')) return false
    throw error
  }
}

/** What was found in each of these that is a directory. */
function namesBelow(entries: ReadonlyMap<string, KnownEntry>, paths: readonly string[]): Map<string, Set<string>> {
  const isDirectory = (path: string): boolean => kindOf(entries.get(path)?.print ?? '') === 'directory'
  const inside = new Map(paths.filter(isDirectory).map((path) => [path, new Set<string>()]))
  if (inside.size > 0)
    for (const path of entries.keys()) if (path !== '.') inside.get(parentOf(path))?.add(nameOf(path))
  return inside
}

const isListed = (now: readonly string[], names: ReadonlySet<string>, exclude: readonly string[] = []): boolean => {
  const counted = now.filter((name) => !exclude.includes(name))
  return counted.length === names.size && counted.every((name) => names.has(name))
}
