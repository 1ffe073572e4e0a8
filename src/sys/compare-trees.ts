import * as fs from 'node:fs'
import { type Change, type DiffEntry, diffEntries } from '../domain/tree-diff.ts'
import { directoryFlags } from './safe-fs/descriptors.ts'
import { runAll, type Steps } from './safe-fs/steps.ts'
import { attributesText } from './trees/attributes.ts'
import { hashSteps } from './trees/content-hash.ts'
import { linkTarget } from './trees/link-target.ts'
import { atBytes } from './trees/names.ts'
import { politely } from './trees/politely.ts'
import { sameBytes } from './trees/same-bytes.ts'
import { type Facts, factsOf, isSame } from './trees/stat.ts'
import { openSeen } from './trees/unlock.ts'
import { type Visit, visitPaths, walkTree } from './trees/walk.ts'

interface CompareOptions {
  /** Names directly below the top that are left out. */
  readonly exclude?: readonly string[] | undefined
  /** Only these paths themselves are looked at, on both sides. */
  readonly only?: ReadonlySet<string> | undefined
  /** `inode`: a file of one tree that has the inode number of one in the other is the same, and may have been renamed. */
  readonly identity?: 'inode' | 'none' | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * What differs between two directories of this host, by the rules of `diff` in `ports/storage-driver.ts`: exactly, from
 * what is there now. Both are walked at once, in the same order; files of equal size are read unless they are one and
 * the same file. Links are not followed, mounts not crossed, nothing but files and directories is opened. Without system
 * calls extended attributes are not compared.
 */
export async function compareTrees(before: string, after: string, options: CompareOptions = {}): Promise<Change[]> {
  const old = fs.openSync(before, directoryFlags)
  try {
    const now = fs.openSync(after, directoryFlags)
    try {
      return await politely(compareSteps(old, now, options), options.signal)
    } finally {
      fs.closeSync(now)
    }
  } finally {
    fs.closeSync(old)
  }
}

function* compareSteps(before: number, after: number, options: CompareOptions): Steps<Change[]> {
  const renames = options.identity === 'inode'
  const [gone, come] = [new Map<string, DiffEntry>(), new Map<string, DiffEntry>()]
  const [olds, news] = [visitsOf(before, options), visitsOf(after, options)]
  try {
    let [old, now] = [nextOf(olds), nextOf(news)]
    while (old !== undefined || now !== undefined) {
      const order = compare(old?.path, now?.path)
      if (old && now && order === 0) {
        if (yield* differ(old, now)) {
          gone.set(old.path, entryOf(before, old, false))
          come.set(now.path, entryOf(after, now, false))
        }
      } else if (old && order < 0) gone.set(old.path, entryOf(before, old, renames))
      else if (now) come.set(now.path, entryOf(after, now, renames))
      if (order <= 0) old = nextOf(olds)
      if (order >= 0) now = nextOf(news)
      yield
    }
  } finally {
    olds.return()
    news.return()
  }
  return diffEntries(gone, come)
}

function visitsOf(top: number, { only, exclude = [] }: CompareOptions): Generator<Visit, void, void> {
  if (only === undefined) return walkTree(top, { exclude })
  const paths = [...only].filter((path) => !exclude.includes(path.split('/', 1)[0] ?? ''))
  return visitPaths(top, paths.toSorted(compare))
}

const nextOf = (visits: Generator<Visit, void, void>): Visit | undefined => visits.next().value ?? undefined

/** By bytes; an end comes after everything. */
const compare = (one: string | undefined, other: string | undefined): number =>
  one === other ? 0 : other === undefined || (one !== undefined && one < other) ? -1 : 1

/** Cheap looks first: a file is read only if all else is equal. */
function* differ(old: Visit, now: Visit): Steps<boolean> {
  if (isSame(old.print, now.print)) return false
  const [a, b] = [factsOf(old.print), factsOf(now.print)]
  if (a.kind !== b.kind || a.uid !== b.uid || a.gid !== b.gid) return true
  if (a.kind !== 'symlink' && a.mode !== b.mode) return true
  if (a.kind === 'file' && a.size !== b.size) return true
  if (smallContent(old, a) !== smallContent(now, b)) return true
  if (attributesOf(old) !== attributesOf(now)) return true
  return a.kind === 'file' && a.size > 0 && !(yield* sameFiles(old, now, a.size))
}

function* sameFiles(old: Visit, now: Visit, size: number): Steps<boolean> {
  const one = openSeen(old.directory, old.name, old.print)
  try {
    const other = openSeen(now.directory, now.name, now.print)
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

const attributesOf = ({ directory, name }: Visit): string => attributesText(atBytes(directory, name))

/** Of what is no file: a link's target, a device's number. */
function smallContent({ directory, name }: Visit, { kind, major, minor }: Facts): string {
  if (kind === 'symlink') return linkTarget(directory, name)
  return kind === 'block' || kind === 'char' ? `${major}:${minor}` : ''
}

function entryOf(top: number, visit: Visit, renames: boolean): DiffEntry {
  const facts = factsOf(visit.print)
  const small = smallContent(visit, facts)
  // One of several names may go while another stays: that is no rename.
  const movable = renames && (facts.kind === 'directory' || facts.links === 1)
  return {
    kind: facts.kind,
    size: facts.size,
    mode: facts.mode,
    owner: `${facts.uid}:${facts.gid}`,
    attributes: attributesOf(visit),
    ...(movable && { identity: facts.inode }),
    get content() {
      return facts.kind === 'file' ? hashAt(top, visit) : small
    },
  }
}

/** Empty if it is not the same file any more. */
function hashAt(top: number, { path, print }: Visit): string {
  for (const { directory, name } of visitPaths(top, [path])) {
    const fd = openSeen(directory, name, print)
    if (fd === undefined) break
    try {
      return runAll(hashSteps(fd)).hash
    } finally {
      fs.closeSync(fd)
    }
  }
  return ''
}
