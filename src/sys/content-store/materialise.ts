import type { ImportReport, OnProgress } from '../../ports/storage-driver.ts'
import { hasCode } from '../errno.ts'
import { hostFs } from '../host-fs.ts'
import type { Steps } from '../safe-fs/steps.ts'
import { atBytes } from '../trees/names.ts'
import { factsOf, look } from '../trees/stat.ts'
import { nameOf, openDirectories } from './directories.ts'
import { type Entry, formatEntry, isLinked } from './entry.ts'
import { dress, makeEntry } from './make-entry.ts'
import type { Objects } from './objects.ts'
import type { Known } from './stat-index.ts'

interface Options {
  readonly onProgress?: OnProgress | undefined
  /** Told what was made, as a manifest of the new tree would. */
  readonly onMade?: ((made: Known) => void) | undefined
}

/**
 * Makes the entries of a frozen tree below an open directory that nobody else can reach yet, or that is theirs to be
 * filled; they are in the order of paths. Directories that are there are joined, nothing else is replaced. Their modes and
 * times come last, from the inside out: one may forbid what is still to be made in it. The top is dressed too, if it is
 * among the entries.
 */
export function* materialise(
  objects: Objects,
  top: number,
  entries: readonly Entry[],
  options: Options = {},
): Steps<ImportReport> {
  using directories = openDirectories(top)
  const first = new Map<string, string>()
  const made: Entry[] = []
  const skipped: ImportReport['skipped'][number][] = []
  let [files, bytes, reflinked] = [0, 0, 0]
  for (const entry of entries) {
    const { path, kind } = entry
    if (kind === 'directory') {
      if (path !== '.') makeDirectory(atBytes(directories.holding(path), nameOf(path)))
      made.push(entry)
      continue
    }
    const twin = isLinked(entry) ? first.get(twinKey(entry)) : undefined
    if (twin !== undefined) {
      link(twin, path)
      continue
    }
    const directory = directories.holding(path)
    const how = yield* makeEntry(objects, directory, nameOf(path), entry)
    if (how === 'device') {
      skipped.push({ path, reason: kind === 'fifo' || kind === 'socket' ? kind : 'device' })
      continue
    }
    if (isLinked(entry)) first.set(twinKey(entry), path)
    if (kind === 'file') {
      files += 1
      bytes += entry.size
      if (how === 'shared') reflinked += 1
      if (files % 100 === 0) options.onProgress?.({ files, bytes })
    }
    tell(directory, entry)
    yield
  }
  for (const entry of made.toReversed()) {
    const holder = entry.path === '.' ? top : directories.holding(entry.path)
    const name = entry.path === '.' ? '.' : nameOf(entry.path)
    dress(atBytes(holder, name), entry)
    tell(holder, entry, name)
  }
  return { files, bytes, reflinked, skipped }

  function link(from: string, to: string): void {
    const source = atBytes(directories.holding(from), nameOf(from))
    hostFs.linkSync(source, atBytes(directories.holding(to), nameOf(to)))
  }

  function tell(directory: number, entry: Entry, name = nameOf(entry.path)): void {
    if (options.onMade === undefined) return
    const seen = look(directory, name === '.' ? '' : name)
    if (seen === undefined || isLinked(entry)) return
    options.onMade({ print: seen.print, line: formatEntry({ ...entry, inode: factsOf(seen.print).inode }) })
  }
}

/** One file under several names: the same inode, and all else the same. In a fuzzy snapshot an inode can be used twice. */
export const twinKey = ({ inode, size, content, mode, mtimeNs }: Entry): string =>
  `${inode} ${size} ${content} ${mode} ${mtimeNs}`

function makeDirectory(path: string | Buffer): void {
  try {
    hostFs.mkdirSync(path, 0o700)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

/**
 * The part of a tree that a path leads to, by itself: of a directory what is in it, of anything else that alone, under
 * its own name. Undefined if there is nothing.
 */
export function partOf(entries: readonly Entry[], path: string): { entries: Entry[]; single: boolean } | undefined {
  if (path === '.') return { entries: [...entries], single: false }
  const found = entries.find((entry) => entry.path === path)
  if (found === undefined) return undefined
  if (found.kind !== 'directory') return { entries: [{ ...found, path: nameOf(path) }], single: true }
  const below = entries.filter((entry) => entry.path.startsWith(`${path}/`))
  const moved = below.map((entry) => ({ ...entry, path: entry.path.slice(path.length + 1) }))
  return { entries: [{ ...found, path: '.' }, ...moved], single: false }
}
