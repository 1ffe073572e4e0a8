import { type Change, type DiffEntry, diffEntries, exactKey } from '../../../../../domain/trees/diff.ts'
import type { DiffOptions } from '../../../../../ports/storage-driver.ts'
import { byPath, diffEntry, type Entry, isLinked, isLinkedLine, parseEntry, pathOfLine } from '../entry.ts'
import type { Manifest } from '../manifest.ts'

/** What differs between two frozen trees. Lines that are equal are not even taken apart. */
export function diffManifests(
  before: Manifest,
  after: Manifest,
  { exclude = [], exact = false }: Pick<DiffOptions, 'exclude' | 'exact'> = {},
): Change[] {
  const { gone, come } = changedLines(before, after, exclude)
  const identities = renamed(gone, come)
  const [olds, news] = [asDiff(gone, identities), asDiff(come, identities)]
  return exact ? diffEntries(asExact(olds, gone, before), asExact(news, come, after)) : diffEntries(olds, news)
}

/** How many paths differ; a rename is two. */
export function countManifestDifferences(before: Manifest, after: Manifest): number {
  const { gone, come } = changedLines(before, after, [])
  return diffEntries(asDiff(gone), asDiff(come)).length
}

type Entries = ReadonlyMap<string, Entry>

/** Both are in order, and most lines are in both. The top is no part of the comparison: it has no name. */
function changedLines(before: Manifest, after: Manifest, exclude: readonly string[]): { gone: Entries; come: Entries } {
  const [gone, come] = [new Map<string, Entry>(), new Map<string, Entry>()]
  const add = (entries: Map<string, Entry>, path: string, line: string): void => {
    if (path !== '.' && !isBelow(path, exclude)) entries.set(path, parseEntry(line))
  }
  for (let [i, j] = [0, 0]; i < before.lines.length || j < after.lines.length;) {
    const [old, now] = [before.lines[i], after.lines[j]]
    if (old === now) [i, j] = [i + 1, j + 1]
    else {
      const [was, is] = [old && pathOfLine(old), now && pathOfLine(now)]
      const order = was === undefined ? 1 : is === undefined ? -1 : byPath(was, is)
      if (order <= 0 && was !== undefined) add(gone, was, before.lines[i++] ?? '')
      if (order >= 0 && is !== undefined) add(come, is, after.lines[j++] ?? '')
    }
  }
  return { gone, come }
}

const isBelow = (path: string, names: readonly string[]): boolean =>
  names.length > 0 && names.includes(path.split('/', 1)[0] ?? '')

const asDiff = (entries: Entries, identities?: ReadonlyMap<Entry, string>): Map<string, DiffEntry> =>
  new Map([...entries].map(([path, entry]) => [path, diffEntry(entry, identities?.get(entry))]))

function asExact(
  told: ReadonlyMap<string, DiffEntry>,
  entries: Entries,
  manifest: Manifest,
): ReadonlyMap<string, DiffEntry> {
  const isAny = [...entries.values()].some(isLinked)
  const first = isAny ? firstNames(manifest) : new Map<string, string>()
  const exact = (path: string): string => {
    const { kind, mtimeNs, inode } = entries.get(path) as Entry
    return exactKey(kind, mtimeNs, first.get(inode) ?? path)
  }
  return new Map([...told].map(([path, entry]) => [path, { ...entry, exact: exact(path) }]))
}

/** Of each file with several names the first, by its inode: also where its line is the same in the other tree. */
function firstNames({ lines }: Manifest): Map<string, string> {
  const linked = lines.filter(isLinkedLine).map(parseEntry).filter(isLinked)
  return new Map(linked.toReversed().map(({ inode, path }) => [inode, path]))
}

/**
 * Files that are gone under one name and there under another: with the inode and the content they had, or with a content
 * that no other file that went or came has.
 */
function renamed(gone: Entries, come: Entries): ReadonlyMap<Entry, string> {
  const identities = new Map<Entry, string>()
  const movable = (entries: Entries, others: Entries): Entry[] =>
    [...entries.values()].filter(
      ({ path, kind, links, size }) => !others.has(path) && kind === 'file' && links === 1 && size > 0,
    )
  const pair = (key: (entry: Entry) => string): void => {
    const [olds, news] = [movable(gone, come), movable(come, gone)].map((entries) =>
      byUnique(
        entries.filter((entry) => !identities.has(entry)),
        key,
      ),
    ) as [Map<string, Entry>, Map<string, Entry>]
    for (const [name, entry] of news) {
      const old = olds.get(name)
      if (old === undefined) continue
      identities.set(old, name)
      identities.set(entry, name)
    }
  }
  pair(({ inode, content }) => `${inode} ${content}`)
  pair(({ content }) => content)
  return identities
}

/** Those whose key no other has. */
function byUnique(entries: readonly Entry[], key: (entry: Entry) => string): Map<string, Entry> {
  const found = new Map<string, Entry | undefined>()
  for (const entry of entries) found.set(key(entry), found.has(key(entry)) ? undefined : entry)
  return new Map([...found].flatMap(([name, entry]) => (entry === undefined ? [] : [[name, entry]])))
}
