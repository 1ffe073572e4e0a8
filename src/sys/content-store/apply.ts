import { hostFs } from '../host-fs.ts'
import { removeSteps } from '../safe-fs/remove.ts'
import type { Steps } from '../safe-fs/steps.ts'
import { atBytes, nodeName } from '../trees/names.ts'
import { unlock } from '../trees/unlock.ts'
import { nameOf, openDirectories, parentOf } from './directories.ts'
import { type Entry, isLinked, parseEntry } from './entry.ts'
import { dress, makeEntry } from './make-entry.ts'
import { twinKey } from './materialise.ts'
import type { Objects } from './objects.ts'
import { newTemporaryName } from '../safe-fs/replace.ts'

/**
 * Makes a volume equal to a frozen tree by changing what differs, and that alone: what is equal keeps its inode. A file
 * is replaced by a rename, so that it always is the old one or the new; directories get their modes and times last. Safe
 * to be done again from wherever it was interrupted.
 * @param now what is there, by path, as lines of a manifest
 */
export function* applySteps(
  objects: Objects,
  top: number,
  now: ReadonlyMap<string, string>,
  wanted: ReadonlyMap<string, string>,
): Steps<number> {
  const todo = plan(now, wanted)
  using directories = openDirectories(top, (path, fd) => open(path, fd))
  /** Directories that are to be dressed in the end: what is in them, or their own mode, was changed. */
  const undressed = new Set<string>(todo.dress)
  let changed = 0

  for (const path of todo.remove.toReversed()) {
    const holder = writable(parentOf(path))
    directories.forget(path)
    yield* removeSteps(holder, nodeName(nameOf(path)), path)
    changed += 1
  }
  const first = new Map<string, string>()
  for (const entry of todo.make) {
    changed += 1
    const { path } = entry
    const holder = writable(parentOf(path))
    if (entry.kind === 'directory') {
      hostFs.mkdirSync(atBytes(holder, nameOf(path)), 0o700)
      undressed.add(path)
      continue
    }
    const temporary = newTemporaryName()
    const twin = isLinked(entry) ? first.get(twinKey(entry)) : undefined
    if (twin !== undefined) linkTwin(twin, path, temporary)
    else if ((yield* makeEntry(objects, holder, temporary, entry)) === 'device') continue
    else if (isLinked(entry)) first.set(twinKey(entry), path)
    const directory = directories.holding(path)
    hostFs.renameSync(atBytes(directory, temporary), atBytes(directory, nameOf(path)))
    yield
  }
  for (const entry of todo.redress) {
    dress(atBytes(directories.holding(entry.path), nameOf(entry.path)), entry)
    changed += 1
    yield
  }
  for (const path of [...undressed].toSorted().toReversed()) {
    const line = wanted.get(path)
    if (line === undefined) continue
    dress(path === '.' ? atBytes(top, '.') : atBytes(directories.holding(path), nameOf(path)), parseEntry(line))
    yield
  }
  return changed

  /** A directory to be written to; as its owner, if need be. It gets its own mode when all is done. */
  function writable(path: string): number {
    const directory = directories.open(path)
    open(path, directory)
    return directory
  }

  function open(path: string, directory: number): void {
    unlock(directory, 0o700)
    undressed.add(path)
  }

  function linkTwin(from: string, to: string, temporary: string): void {
    const holder = directories.holding(to)
    const source = atBytes(directories.holding(from), nameOf(from))
    hostFs.linkSync(source, atBytes(holder, temporary))
  }
}

interface Plan {
  readonly remove: readonly string[]
  readonly make: readonly Entry[]
  /** Same content, another mode, owner, time or attribute. */
  readonly redress: readonly Entry[]
  readonly dress: readonly string[]
}

function plan(now: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, string>): Plan {
  const [remove, dress]: [string[], string[]] = [[], []]
  const [make, redress]: [Entry[], Entry[]] = [[], []]
  const present = new Map([...now].map(([path, line]) => [path, parseEntry(line)]))
  const aims = new Map([...wanted].map(([path, line]) => [path, parseEntry(line)]))
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
      if (!isDressed(entry, aim)) dress.push(path)
    } else if (entry === undefined || entry.kind !== aim.kind || entry.content !== aim.content || !sameNames)
      make.push(aim)
    else if (!isDressed(entry, aim)) {
      // Of a file with several names, each would be changed: it is made anew, with all of them.
      if (isLinked(entry) || isLinked(aim)) make.push(aim)
      else redress.push(aim)
    }
  }
  return { remove: outermost(remove), make: withTwins(make, aims, groupsWanted), redress, dress }
}

/** A directory is removed with all that is in it. */
function outermost(paths: readonly string[]): string[] {
  const all = new Set(paths)
  return paths.filter((path) => !all.has(parentOf(path)))
}

const isDressed = (one: Entry, other: Entry): boolean =>
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
    const group = names.get(twinKey(entry)) ?? []
    group.push(entry.path)
    names.set(twinKey(entry), group)
  }
  const all = [...names.values()].filter((paths) => paths.length > 1)
  return new Map(all.flatMap((paths) => paths.map((path) => [path, paths.join('\0')] as const)))
}

/** If one name of a file is made anew, all are. */
function withTwins(
  make: readonly Entry[],
  wanted: ReadonlyMap<string, Entry>,
  groups: ReadonlyMap<string, string>,
): Entry[] {
  const paths = new Set(make.map(({ path }) => path))
  for (const { path } of make) for (const twin of groups.get(path)?.split('\0') ?? []) paths.add(twin)
  return [...wanted.values()].filter(({ path }) => paths.has(path))
}
