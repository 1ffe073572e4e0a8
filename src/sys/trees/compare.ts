import * as fs from 'node:fs'
import { type Change, type DiffEntry, diffEntries, exactKey } from '../../domain/trees/diff.ts'
import { pairByContent } from './pair-renames.ts'
import { directoryFlags } from '../safe-fs/descriptors.ts'
import type { Coroutine } from '../safe-fs/coroutine.ts'
import { attributesText, type Where } from './attributes.ts'
import { linkTarget } from './link-target.ts'
import { mountsIn } from './mounts-in.ts'
import { atBytes } from './names.ts'
import { runCancellable } from './run-cancellable.ts'
import { sameBytes } from './same-bytes.ts'
import { decodeStat, identityIn, isSame, kindOf, linksIn, type StatFields } from './stat.ts'
import { openIfUnchanged } from './unlock.ts'
import { type Visit, visitPaths, walkTree } from './walk.ts'

interface CompareOptions {
  /** Names directly below the top that are left out. */
  readonly exclude?: readonly string[] | undefined
  /** Only these paths themselves are looked at, on both sides. */
  readonly only?: ReadonlySet<string> | undefined
  /** `inode`: a file of one tree that has the inode number of one in the other is the same, and may have been renamed. */
  readonly identity?: 'inode' | 'none' | undefined
  /** False: what was renamed is one that went and one that came. */
  readonly renames?: boolean | undefined
  /** It ends when so many paths are known to differ. */
  readonly enough?: number | undefined
  /** As in `diff`. */
  readonly exact?: boolean | undefined
  /** Of the attributes that are compared; `anywhere` unless it is told. */
  readonly where?: Where | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * What differs between two directories of this host, by the rules of `diff` in `ports/storage-driver.ts`: exactly, from
 * what is there now. Both are walked at once, in the same order; files of equal size are read unless they are one and
 * the same file. Links are not followed, nothing but files and directories is opened. What is mounted in either is there,
 * and neither it nor what it hides is compared. Without system calls extended attributes are not compared.
 */
export async function compareTrees(before: string, after: string, options: CompareOptions = {}): Promise<Change[]> {
  const old = fs.openSync(before, directoryFlags)
  try {
    const now = fs.openSync(after, directoryFlags)
    try {
      return await runCancellable(compareSteps(old, now, options), options.signal)
    } finally {
      fs.closeSync(now)
    }
  } finally {
    fs.closeSync(old)
  }
}

function* compareSteps(before: number, after: number, options: CompareOptions): Coroutine<Change[]> {
  const { enough = Infinity, exact = false, where = 'anywhere' } = options
  const renames = options.renames !== false && options.identity === 'inode'
  const [gone, come] = [new Map<string, DiffEntry>(), new Map<string, DiffEntry>()]
  const [left, arrived] = [new Map<string, Visit>(), new Map<string, Visit>()]
  const lone: Record<'old' | 'now', Visit[]> = { old: [], now: [] }
  const mounted = new Set([...mountsIn(before, options), ...mountsIn(after, options)])
  const [olds, news] = [visitsOf(before, mounted, options), visitsOf(after, mounted, options)]
  const [exactlyOld, exactlyNow] = exact ? [exactSide(), exactSide()] : [notAsked, notAsked]
  const onlyOne = (entries: Map<string, DiffEntry>, visits: Map<string, Visit>, visit: Visit): void => {
    const entry = entryOf(visit, where, { renames })
    entries.set(visit.path, entry)
    if (entry.kind === 'file' && entry.identity !== undefined) visits.set(entry.identity, visit)
  }
  try {
    let [old, now] = [nextOf(olds), nextOf(news)]
    while ((old !== undefined || now !== undefined) && gone.size + come.size < 2 * enough) {
      const order = compare(old?.path, now?.path)
      if (old && now && order === 0 && !mounted.has(now.path)) {
        const [was, is] = [exactlyOld(old), exactlyNow(now)]
        const difference = (yield* differ(old, now, where)) ?? (was === is ? undefined : { sameContent: true })
        if (difference !== undefined) {
          gone.set(old.path, { ...entryOf(old, where), exact: was })
          come.set(now.path, { ...entryOf(now, where, difference), exact: is })
        }
      } else if (old && order < 0) {
        exactlyOld(old)
        if (isLone(old)) lone.old.push(old)
        onlyOne(gone, left, old)
      } else if (now && order > 0) {
        exactlyNow(now)
        if (isLone(now)) lone.now.push(now)
        onlyOne(come, arrived, now)
      }
      if (order <= 0) old = nextOf(olds)
      if (order >= 0) now = nextOf(news)
      yield
    }
  } finally {
    olds.return()
    news.return()
  }
  // Renamed, perhaps; and perhaps written to as well.
  for (const [identity, now] of arrived) {
    const [old, entry] = [left.get(identity), come.get(now.path)]
    if (old === undefined || entry === undefined) continue
    if (!(yield* isSameFile([before, old], [after, now]))) come.set(now.path, { ...entry, content: other })
  }
  if (options.renames !== false && enough === Infinity && !exact) {
    const [old, now] = [
      { top: before, entries: gone, lone: lone.old },
      { top: after, entries: come, lone: lone.now },
    ]
    yield* pairByContent(old, now)
  }
  return diffEntries(gone, come)
}

/** One of several names of a file may go while another stays: that is no rename. */
const isLone = ({ print }: Visit): boolean => kindOf(print) === 'file' && linksIn(print) === 1

function visitsOf(
  top: number,
  mounted: ReadonlySet<string>,
  { only, exclude = [] }: CompareOptions,
): Generator<Visit, void, void> {
  if (only === undefined) return walkTree(top, { exclude, mounts: true, enters: (path) => !mounted.has(path) })
  const paths = [...only].filter((path) => !exclude.includes(path.split('/', 1)[0] ?? ''))
  return visitPaths(top, paths.toSorted(compare))
}

const nextOf = (visits: Generator<Visit, void, void>): Visit | undefined => visits.next().value ?? undefined

/** By bytes; an end comes after everything. */
const compare = (one: string | undefined, other: string | undefined): number =>
  one === other ? 0 : other === undefined || (one !== undefined && one < other) ? -1 : 1

const notAsked = (_: Visit): undefined => undefined

/**
 * What is compared besides in one of the trees, of all that is visited there in the order of paths. How many names a file
 * has tells of those that are not visited.
 */
function exactSide(): (visit: Visit) => string {
  const first = new Map<string, string>()
  return ({ path, print }) => {
    const kind = kindOf(print)
    const identity = kind !== 'directory' && linksIn(print) > 1 ? identityIn(print) : undefined
    if (identity !== undefined && !first.has(identity)) first.set(identity, path)
    return exactKey(kind, decodeStat(print).mtimeNs, `${first.get(identity ?? '') ?? path} ${linksIn(print)}`)
  }
}

interface Difference {
  readonly sameContent: boolean
}

/** Undefined if there is none. */
function* differ(old: Visit, now: Visit, where: Where): Coroutine<Difference | undefined> {
  if (isSame(old.print, now.print)) return undefined
  const [a, b] = [decodeStat(old.print), decodeStat(now.print)]
  if (a.kind !== b.kind) return { sameContent: false }
  const sameContent = a.kind === 'file' ? yield* sameFiles(old, now) : smallContent(old, a) === smallContent(now, b)
  const sameMode = a.kind === 'symlink' || a.mode === b.mode
  const sameOwner = a.uid === b.uid && a.gid === b.gid
  const isSameElse = sameMode && sameOwner && attributesOf(old, where) === attributesOf(now, where)
  return sameContent && isSameElse ? undefined : { sameContent }
}

function* sameFiles(old: Visit, now: Visit): Coroutine<boolean> {
  const { size } = decodeStat(old.print)
  if (size !== decodeStat(now.print).size) return false
  if (size === 0) return true
  const one = openIfUnchanged(old.directory, old.name, old.print)
  try {
    const other = openIfUnchanged(now.directory, now.name, now.print)
    if (one === undefined || other === undefined) return false
    try {
      return yield* sameBytes(one, other, size)
    } finally {
      fs.closeSync(other)
    }
  } finally {
    if (one !== undefined) fs.closeSync(one)
  }
}

/** The same of what was visited before. False if either is not what it was then. */
function* isSameFile(old: readonly [number, Visit], now: readonly [number, Visit]): Coroutine<boolean> {
  for (const one of visitPaths(old[0], [old[1].path]))
    for (const other of visitPaths(now[0], [now[1].path]))
      return yield* sameFiles({ ...one, print: old[1].print }, { ...other, print: now[1].print })
  return false
}

const attributesOf = ({ directory, name }: Visit, where: Where): string =>
  attributesText(atBytes(directory, name), where)

/** Of what is no file: a link's target, a device's number. */
function smallContent({ directory, name }: Visit, { kind, major, minor }: StatFields): string {
  if (kind === 'symlink') return linkTarget(directory, name)
  return kind === 'block' || kind === 'char' ? `${major}:${minor}` : ''
}

const other = 'another'

/**
 * The content of a file is nothing that anybody is told: it is the same as that of what it is compared with, or not. A file
 * that has come or gone is compared with none, unless it was renamed.
 */
function entryOf(visit: Visit, where: Where, { renames = false, sameContent = true } = {}): DiffEntry {
  const facts = decodeStat(visit.print)
  // One of several names may go while another stays: that is no rename.
  const movable = renames && (facts.kind === 'directory' || facts.links === 1)
  return {
    kind: facts.kind,
    size: facts.size,
    mode: facts.mode,
    owner: `${facts.uid}:${facts.gid}`,
    attributes: attributesOf(visit, where),
    ...(movable && { identity: facts.inode }),
    content: facts.kind !== 'file' ? smallContent(visit, facts) : sameContent ? '' : other,
  }
}
