import * as fs from 'node:fs'
import { join } from 'node:path'
import type { ImportReport, OnProgress } from '../../../../ports/storage-driver.ts'
import { copyProgram, type HelperMade, makeWithHelper } from '../../../../sys/copy/helper.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { atBytes } from '../../../../sys/trees/names.ts'
import { runCancellable } from '../../../../sys/trees/run-cancellable.ts'
import { inodeIn, statEntry } from '../../../../sys/trees/stat.ts'
import { nameOf, openDirectories } from '../../../../sys/trees/directory-cache.ts'
import { type Entry, formatEntry, isLinked, parseEntry, withInode } from './entry.ts'
import { contentLost, makeEntry } from './make-entry.ts'
import { applyOwnerAndMode } from '../../../../sys/trees/owner-and-mode.ts'
import { type Objects, objectsDirectory, openObjects } from './objects.ts'
import type { KnownEntry } from './scan/stat-index.ts'
import type { Store } from './store.ts'

export interface MaterialiseOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: OnProgress | undefined
  /** Told what was made, as a manifest of the new tree would. */
  readonly onMade?: ((made: KnownEntry) => void) | undefined
  /** The caller makes it durable in the end: that may be begun. */
  readonly durable?: boolean | undefined
  /** Without the program that makes most of it. */
  readonly alone?: boolean | undefined
}

/**
 * Makes the entries of a frozen tree below an open directory that nobody else can reach yet, or that is theirs to be
 * filled; they are in the order of paths. Directories that are there are joined, nothing else is replaced. Their modes and
 * times come last, from the inside out: one may forbid what is still to be made in it. The top is dressed too, if it is
 * among the entries.
 * @param lines as of a manifest
 */
export async function materialise(
  store: Pick<Store, 'root'>,
  top: number,
  lines: readonly string[],
  making: MaterialiseOptions = {},
): Promise<ImportReport> {
  const plain = await makeWithHelperProgram(store, top, lines, making)
  return runCancellable(makeRemaining(openObjects(store.root), top, lines, plain, making), making.signal)
}

/** Fewer are made sooner than a program is started. */
const fewest = 50

/** What is plain, by a program. Undefined if it was not, and nothing is there yet. */
async function makeWithHelperProgram(
  store: Pick<Store, 'root'>,
  top: number,
  lines: readonly string[],
  { signal, onProgress, durable = false, alone = false }: MaterialiseOptions,
): Promise<HelperMade | undefined> {
  const program = alone ? undefined : copyProgram()
  if (program === undefined || lines.length < fewest || signal?.aborted) return undefined
  const objects = fs.openSync(join(store.root, objectsDirectory), directoryFlags)
  try {
    return await makeWithHelper({
      program,
      objects,
      top,
      lines,
      durable,
      signal,
      onProgress,
      lost: (path) => contentLost({ path }),
    })
  } finally {
    fs.closeSync(objects)
  }
}

/** All that is not there yet. */
function* makeRemaining(
  objects: Objects,
  top: number,
  lines: readonly string[],
  plain: HelperMade | undefined,
  { onProgress, onMade }: MaterialiseOptions,
): Coroutine<ImportReport> {
  using directories = openDirectories(top)
  const first = new Map<string, string>()
  const undressed: Entry[] = []
  const skipped: ImportReport['skipped'][number][] = []
  let { files, bytes, reflinked } = plain ?? { files: 0, bytes: 0, reflinked: 0 }
  for (const [index, line] of lines.entries()) {
    if (index % 1000 === 999) yield
    const print = plain?.printOf(index)
    if (print !== undefined) {
      onMade?.({ print, line: withInode(line, inodeIn(print)) })
      continue
    }
    const entry = parseEntry(line)
    const { path, kind } = entry
    if (kind === 'directory') {
      if (path !== '.') makeDirectory(atBytes(directories.holding(path), nameOf(path)))
      undressed.push(entry)
      continue
    }
    const twin = isLinked(entry) ? first.get(hardLinkKey(entry)) : undefined
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
    if (isLinked(entry)) first.set(hardLinkKey(entry), path)
    if (kind === 'file') {
      files += 1
      bytes += entry.size
      if (how === 'shared') reflinked += 1
      if (files % 100 === 0) onProgress?.({ files, bytes })
    }
    tell(directory, entry)
    yield
  }
  for (const entry of undressed.toReversed()) {
    const holder = entry.path === '.' ? top : directories.holding(entry.path)
    const name = entry.path === '.' ? '.' : nameOf(entry.path)
    applyOwnerAndMode(atBytes(holder, name), entry)
    tell(holder, entry, name)
  }
  return { files, bytes, reflinked, skipped }

  function link(from: string, to: string): void {
    const source = atBytes(directories.holding(from), nameOf(from))
    hostFs.linkSync(source, atBytes(directories.holding(to), nameOf(to)))
  }

  function tell(directory: number, entry: Entry, name = nameOf(entry.path)): void {
    if (onMade === undefined) return
    const seen = statEntry(directory, name === '.' ? '' : name)
    if (seen === undefined || isLinked(entry)) return
    onMade({ print: seen.print, line: formatEntry({ ...entry, inode: inodeIn(seen.print) }) })
  }
}

/** One file under several names: the same inode, and all else the same. In a fuzzy snapshot an inode can be used twice. */
export const hardLinkKey = ({ inode, size, content, mode, mtimeNs }: Entry): string =>
  `${inode} ${size} ${content} ${mode} ${mtimeNs}`

function makeDirectory(path: string | Buffer): void {
  try {
    hostFs.mkdirSync(path, 0o700)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    // Nothing but a directory is joined.
    fs.closeSync(fs.openSync(path, directoryFlags))
  }
}
