import * as fs from 'node:fs'
import { AwError } from '../../domain/errors.ts'
import type { Steps } from '../safe-fs/steps.ts'
import { attributesText } from '../trees/attributes.ts'
import { linkTarget } from '../trees/link-target.ts'
import { atBytes } from '../trees/names.ts'
import { factsOf, kindOf, look, type Print } from '../trees/stat.ts'
import { openSeen } from '../trees/unlock.ts'
import { walkTree, type Visit } from '../trees/walk.ts'
import { isSettled, writeOut } from '../trees/write-out.ts'
import { formatEntry } from './entry.ts'
import { isUnchanged } from './proof.ts'
import type { Known } from './stat-index.ts'

export interface ScanOptions {
  /** What is remembered; nothing that may be wrong. */
  readonly known: ReadonlyMap<string, Known>
  /** When it began, before anything dirty was written out. In milliseconds. */
  readonly flushedAt: number
  /** Each file that is read has to be written out before: not all of them were. */
  readonly writeOut: boolean
  readonly exclude?: readonly string[] | undefined
  /** What to do with the content of a file that is not known. Answers its name. */
  readonly read: (fd: number) => Steps<{ content: string; bytes: number }>
  readonly onRead?: ((bytes: number) => void) | undefined
}

export interface Scanned {
  /** By path, in order. */
  readonly entries: ReadonlyMap<string, Known>
  /** Whether it is the tree at one instant: nothing was written while it was read. */
  readonly quiet: boolean
}

const mostPasses = 4

/**
 * Reads a tree as it is. All of it is looked at, what is not known is read; then it is looked at again, until one pass
 * finds everything as the pass before had left it. Each thing was then the same from one look to the next, so all of them
 * were as they are told at the moment between the two passes. What changes as fast as the kernel's clock ticks is read
 * again in each pass, as a look might not tell.
 */
export function* scanTree(top: number, options: ScanOptions): Steps<Scanned> {
  let before: ReadonlyMap<string, Known> = options.known
  for (let pass = 1; ; pass++) {
    const { entries, changed } = yield* scanOnce(top, before, options, pass > 1)
    if (pass > 1 && changed === 0) return { entries, quiet: true }
    if (yield* isUnchanged(top, entries, (print) => isSettled(print, options.flushedAt)))
      return { entries, quiet: true }
    if (pass === mostPasses) return { entries, quiet: false }
    before = entries
  }
}

interface Pass {
  readonly entries: Map<string, Known>
  readonly changed: number
}

function* scanOnce(
  top: number,
  before: ReadonlyMap<string, Known>,
  options: ScanOptions,
  isProof: boolean,
): Steps<Pass> {
  const entries = new Map<string, Known>()
  let changed = 0
  const relocked = (path: string, print: Print): void => {
    const entry = entries.get(path)
    if (entry) entries.set(path, { ...entry, print })
  }
  const visits = walkTree(top, { exclude: options.exclude, onRelocked: relocked })
  try {
    const first = look(top, '')
    if (first) yield* add({ path: '.', name: '', directory: top, print: first.print })
    for (const visit of visits) {
      const old = before.get(visit.path)
      if (!isAsBefore(visit.print, old)) yield* add(visit)
      else if (old !== undefined && entries.set(visit.path, old).size % 64 === 0) yield
    }
  } finally {
    visits.return()
  }
  if (isProof) for (const path of before.keys()) if (!entries.has(path)) changed += 1
  return { entries, changed }

  function isAsBefore(print: Print, old: Known | undefined): boolean {
    if (old?.print !== print) return false
    return !isProof || kindOf(print) !== 'file' || isSettled(print, options.flushedAt)
  }

  function* add(visit: Visit): Steps<void> {
    const old = before.get(visit.path)
    const isEqual = old?.print === visit.print
    const now = yield* entryOf(visit, options)
    if (now === undefined || old?.line !== now.line || !(isEqual || old?.print === now.print)) changed += 1
    if (now !== undefined) entries.set(visit.path, now)
    yield
  }
}

/** Undefined if it is gone, or became something else: the next pass looks again. */
function* entryOf(visit: Visit, options: ScanOptions): Steps<Known | undefined> {
  const { path, name, directory } = visit
  const found = yield* contentOf(visit, options)
  if (found === undefined) return undefined
  const { kind, mode, uid, gid, mtimeNs, inode, links } = factsOf(found.print)
  const attributes = attributesText(atBytes(directory, name))
  const { content, size } = found
  const shown = { links: kind === 'directory' ? 1 : links, size }
  const line = formatEntry({ path, kind, mode, uid, gid, mtimeNs, inode, ...shown, content, attributes })
  return { line, print: found.torn ? '' : found.print }
}

interface Content {
  readonly content: string
  readonly size: number
  readonly print: Print
  /** It was written to while it was read. */
  readonly torn?: boolean
}

function* contentOf({ path, name, directory, print }: Visit, options: ScanOptions): Steps<Content | undefined> {
  const { kind, major, minor, size } = factsOf(print)
  if (kind === 'symlink') {
    const content = linkTarget(directory, name)
    return { content, size: content.length, print }
  }
  if (kind === 'block' || kind === 'char') return { content: `${major}:${minor}`, size: 0, print }
  if (kind !== 'file' || size === 0) return { content: '', size: 0, print }
  if (!Number.isSafeInteger(size)) throw tooLarge(path)
  const fd = opened(directory, name, print, path)
  if (fd === undefined) return undefined
  try {
    if (options.writeOut) yield* writeOut(fd, size)
    // Not the print that was seen: a file that had to be unlocked has a new ctime.
    const start = look(fd, '')?.print ?? print
    const { content, bytes } = yield* options.read(fd)
    options.onRead?.(bytes)
    const torn = look(fd, '')?.print !== start || bytes !== factsOf(start).size
    return { content, size: bytes, print: start, torn }
  } finally {
    fs.closeSync(fd)
  }
}

/** Positions in it cannot be told apart any more. Such a file is all hole, and somebody's joke. */
const tooLarge = (path: string): AwError =>
  new AwError('source_failed', `The tree cannot be read whole: ${path} says that it has more than 8 PiB`, {
    hint: 'Remove it, and try again; the tree is untouched',
    data: { path },
  })

function opened(directory: number, name: string, print: Print, path: string): number | undefined {
  try {
    return openSeen(directory, name, print)
  } catch (cause) {
    throw new AwError('source_failed', `The tree cannot be read whole: ${path} may not be read`, {
      hint: 'Change its owner or permissions, and try again; the tree is untouched',
      data: { path },
      cause,
    })
  }
}
