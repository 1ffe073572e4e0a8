import { hasCode } from '../../../../../sys/syscalls/errno.ts'
import type { OnDirectory } from '../../../../../sys/trees/scan-helper.ts'
import type { Coroutine } from '../../../../../sys/safe-fs/coroutine.ts'
import { kindOf, type StatFingerprint } from '../../../../../sys/trees/stat.ts'
import { isOlderThanFlush } from '../../../../../sys/trees/write-out.ts'
import { nameOf, openDirectories } from '../../../../../sys/trees/directory-cache.ts'
import { byPath } from '../entry.ts'
import type { ReadOptions } from './read-entry.ts'
import { readOncePerInode, type ReadResult } from './read-once.ts'
import type { KnownEntry } from './stat-index.ts'

export interface ScanOptions extends ReadOptions {
  /** What is remembered; nothing that may be wrong. */
  readonly known: () => ReadonlyMap<string, KnownEntry>
  /** When it began, before anything dirty was written out. In milliseconds. */
  readonly flushedAt: number
  readonly exclude?: readonly string[] | undefined
  /** What is mounted in it is told too, as it is seen; without it, none of it is. */
  readonly mounts?: boolean | undefined
  /** No program helps to look. */
  readonly alone?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/** What a tree was found to be, and how much of it was not so before. */
export interface ScanPass {
  /** By path, in order. */
  readonly entries: ReadonlyMap<string, KnownEntry>
  readonly changed: number
}

/** What a look at all of a tree has found: most of it is known, and only the rest is kept. */
export interface ChangedEntries {
  /** What all that is found later is compared with. A failure is told to who waits for it. */
  readonly compareWith: (known: () => ReadonlyMap<string, KnownEntry>) => Promise<void>
  readonly before: () => ReadonlyMap<string, KnownEntry>
  readonly options: ScanOptions
  readonly isProof: boolean
  readonly isAsBefore: (print: StatFingerprint, old: KnownEntry | undefined) => boolean
  /** For who looks. */
  readonly onTop: (print: StatFingerprint) => void
  readonly onDirectory: OnDirectory
  /** By path, in no order: what is not as before. */
  readonly found: Map<string, StatFingerprint>
  /** Of what was known, the paths that are not there any more. */
  readonly missing: () => ReadonlySet<string>
}

export function collectChanged(options: ScanOptions, isProof: boolean): ChangedEntries {
  let before: ReadonlyMap<string, KnownEntry> = new Map()
  const found = new Map<string, StatFingerprint>()
  const listed: { prefix: string; names: readonly string[] }[] = []
  let seen = 0
  const isAsBefore = (print: StatFingerprint, old: KnownEntry | undefined): boolean => {
    if (old?.print !== print) return false
    return !isProof || kindOf(print) !== 'file' || isOlderThanFlush(print, options.flushedAt)
  }
  const compare = (path: string, print: StatFingerprint): void => {
    const old = before.get(path)
    if (old !== undefined) seen += 1
    if (!isAsBefore(print, old)) found.set(path, print)
  }
  return {
    compareWith(known) {
      const remembering = new Promise<void>((resolve) => {
        before = known()
        resolve()
      })
      remembering.catch(() => undefined)
      return remembering
    },
    before: () => before,
    options,
    isProof,
    isAsBefore,
    found,
    onTop(print) {
      seen += before.has('.') ? 1 : 0
      // Its attributes are read each time.
      found.set('.', print)
    },
    onDirectory(path, names, prints) {
      const prefix = path === '' ? '' : `${path}/`
      names.forEach((name, index) => compare(prefix + name, prints[index] ?? ''))
      listed.push({ prefix, names })
    },
    missing() {
      if (seen === before.size) return new Set()
      const there = new Set(listed.flatMap(({ prefix, names }) => names.map((name) => prefix + name)))
      return new Set([...before.keys()].filter((path) => path !== '.' && !there.has(path)))
    },
  }
}

/** Whether what was read is not what was known. */
export const isDifferent = (now: KnownEntry | undefined, seen: StatFingerprint, old: KnownEntry | undefined): boolean =>
  now === undefined || old?.line !== now.line || (old.print !== seen && old.print !== now.print)

/** Reads what is not as before, in the order of paths, and puts it in its place among what is. */
export function* readChanged(
  top: number,
  { found, missing, options, isProof, ...known }: ChangedEntries,
): Coroutine<ScanPass> {
  using directories = openDirectories(top)
  const before = known.before()
  const gone = missing()
  const readOne = readOncePerInode(options)
  const read = new Map<string, KnownEntry | undefined>()
  let changed = isProof ? gone.size : 0
  for (const path of [...found.keys()].sort(byPath)) {
    const { now, seen } = yield* entryAt(path, found.get(path) ?? '')
    if (isDifferent(now, seen, before.get(path))) changed += 1
    read.set(path, now)
    yield
  }
  return { entries: merged(before, gone, read), changed }

  function* entryAt(path: string, print: StatFingerprint): Coroutine<ReadResult> {
    try {
      const [directory, name] = path === '.' ? [top, ''] : [directories.holding(path), nameOf(path)]
      return yield* readOne({ path, name, directory, print })
    } catch (error) {
      // It went away, or became something else: the next pass looks again.
      if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return { now: undefined, seen: print }
      throw error
    }
  }
}

/** What was read is in order; what is remembered need not be. */
function merged(
  before: ReadonlyMap<string, KnownEntry>,
  gone: ReadonlySet<string>,
  read: ReadonlyMap<string, KnownEntry | undefined>,
): ReadonlyMap<string, KnownEntry> {
  const entries = new Map<string, KnownEntry>()
  const next = read[Symbol.iterator]()
  let one = next.next()
  const isNext = (path: string): boolean => !one.done && byPath(one.value[0], path) <= 0
  const take = (): void => {
    if (!one.done && one.value[1] !== undefined) entries.set(one.value[0], one.value[1])
    one = next.next()
  }
  for (const [path, known] of sorted([...before])) {
    while (isNext(path)) take()
    if (!gone.has(path) && !read.has(path)) entries.set(path, known)
  }
  while (!one.done) take()
  return entries
}

type Item = [path: string, known: KnownEntry]

const sorted = (items: Item[]): Item[] =>
  items.every(([path], index) => index === 0 || byPath(items[index - 1]?.[0] ?? '', path) < 0)
    ? items
    : items.sort(([one], [other]) => byPath(one, other))
