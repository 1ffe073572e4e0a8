import { hasCode } from '../../../../../sys/syscalls/errno.ts'
import type { Steps } from '../../../../../sys/safe-fs/coroutine.ts'
import { factsOf, kindOf, look } from '../../../../../sys/trees/stat.ts'
import { namesIn } from '../../../../../sys/trees/walk.ts'
import { isSettled } from '../../../../../sys/trees/write-out.ts'
import type { ScanOptions } from './changed-entries.ts'
import { nameOf, openDirectories, parentOf } from '../../../../../sys/trees/directory-cache.ts'
import { entryOf } from './read-entry.ts'
import type { Known } from './stat-index.ts'

/**
 * Whether everything in a tree still is what it was told to be, so that no second reading is needed: each thing is looked
 * at once more. A directory that did not change has the same names in it, so none is listed. A look tells only of changes
 * that were not made in the tick of the clock of the one before.
 */
export function* isUnchanged(top: number, entries: ReadonlyMap<string, Known>): Steps<boolean> {
  using directories = openDirectories(top)
  let looks = 0
  try {
    for (const [path, { print }] of entries) {
      const seen = path === '.' ? look(top, '') : look(directories.holding(path), nameOf(path))
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
const mostRecent = 1000

/**
 * What was changed a moment ago, by path: of that a look tells nothing. Undefined if there is much of it, or something was
 * written to while it was read, or may not be read as it is.
 */
export function recentOf(
  entries: ReadonlyMap<string, Known>,
  { flushedAt }: Pick<ScanOptions, 'flushedAt'>,
): string[] | undefined {
  const recent: string[] = []
  for (const [path, { print }] of entries) {
    if (print === '' || recent.length > mostRecent) return undefined
    if (isSettled(print, flushedAt)) continue
    if (isLocked(print)) return undefined
    recent.push(path)
  }
  return recent
}

/** To read it, its owner has to change its mode, and so what the kernel tells of it. */
function isLocked(print: string): boolean {
  const { kind, mode } = factsOf(print)
  return (kind === 'file' && (mode & 0o400) === 0) || (kind === 'directory' && (mode & 0o500) !== 0o500)
}

/** Whether some things are as they were when they were read; a directory also if there are the same names in it. */
export function* isReadAgain(
  top: number,
  entries: ReadonlyMap<string, Known>,
  paths: readonly string[],
  options: ScanOptions,
): Steps<boolean> {
  using directories = openDirectories(top)
  const inside = namesBelow(entries, paths)
  try {
    for (const path of paths) {
      const known = entries.get(path)
      const [directory, name] = path === '.' ? [top, ''] : [directories.holding(path), nameOf(path)]
      const now = yield* entryOf({ path, name, directory, print: known?.print ?? '' }, options)
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
function namesBelow(entries: ReadonlyMap<string, Known>, paths: readonly string[]): Map<string, Set<string>> {
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
