import { type Entry, isLinked, isLinkedLine, parseEntry } from './entry.ts'
import { hardLinkKey } from './materialise.ts'
import type { KnownEntry } from './scan/stat-index.ts'

/** What makes one tree the other. */
export interface Plan {
  /** All of them, each before what holds it when taken from the end. */
  readonly remove: readonly string[]
  readonly make: readonly Entry[]
  /** Same content, another mode, owner, time or attribute. */
  readonly redress: readonly Entry[]
  readonly dress: readonly string[]
}

/** @param now what is there, by path */
export function planOf(now: ReadonlyMap<string, KnownEntry>, wanted: ReadonlyMap<string, string>): Plan {
  const [remove, dress]: [string[], string[]] = [[], []]
  const [make, redress]: [Entry[], Entry[]] = [[], []]
  // What is the same needs nothing, but for the names of files that have several.
  const [present, aims] = [new Map<string, Entry>(), new Map<string, Entry>()]
  for (const [path, { line }] of now)
    if (line !== wanted.get(path) || isLinkedLine(line)) present.set(path, parseEntry(line))
  for (const [path, line] of wanted)
    if (line !== now.get(path)?.line || isLinkedLine(line)) aims.set(path, parseEntry(line))
  const [groupsNow, groupsWanted] = [groupsOf(present.values()), groupsOf(aims.values())]
  for (const [path, entry] of present) {
    const aim = aims.get(path)
    const replaced = aim !== undefined && aim.kind !== entry.kind && [aim.kind, entry.kind].includes('directory')
    if (aim === undefined || replaced) remove.push(path)
  }
  for (const [path, aim] of aims) {
    const entry = present.get(path)
    const sameNames = groupsNow.get(path) === groupsWanted.get(path)
    if (entry?.kind === 'directory' && aim.kind === 'directory') {
      if (!hasSameAttributes(entry, aim)) dress.push(path)
    } else if (entry === undefined || entry.kind !== aim.kind || entry.content !== aim.content || !sameNames)
      make.push(aim)
    else if (!hasSameAttributes(entry, aim)) {
      // Of a file with several names, each would be changed: it is made anew, with all of them.
      if (isLinked(entry) || isLinked(aim)) make.push(aim)
      else redress.push(aim)
    }
  }
  return { remove, make: withHardLinks(make, aims, groupsWanted), redress, dress }
}

const hasSameAttributes = (one: Entry, other: Entry): boolean =>
  one.uid === other.uid &&
  one.gid === other.gid &&
  one.mtimeNs === other.mtimeNs &&
  one.attributes === other.attributes &&
  (one.mode === other.mode || one.kind === 'symlink')

/** For each path of a file with several names, all of them as one text. */
function groupsOf(entries: Iterable<Entry>): Map<string, string> {
  const names = new Map<string, string[]>()
  for (const entry of entries) {
    if (!isLinked(entry)) continue
    const group = names.get(hardLinkKey(entry)) ?? []
    group.push(entry.path)
    names.set(hardLinkKey(entry), group)
  }
  const all = [...names.values()].filter((paths) => paths.length > 1)
  return new Map(all.flatMap((paths) => paths.map((path) => [path, paths.join('\0')] as const)))
}

/** If one name of a file is made anew, all are. */
function withHardLinks(
  make: readonly Entry[],
  wanted: ReadonlyMap<string, Entry>,
  groups: ReadonlyMap<string, string>,
): Entry[] {
  const paths = new Set(make.map(({ path }) => path))
  for (const { path } of make) for (const twin of groups.get(path)?.split('\0') ?? []) paths.add(twin)
  return [...wanted.values()].filter(({ path }) => paths.has(path))
}
