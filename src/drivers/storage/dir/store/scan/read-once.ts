import type { Coroutine } from '../../../../../sys/safe-fs/coroutine.ts'
import { decodeStat, identityIn, statEntry, type StatFingerprint } from '../../../../../sys/trees/stat.ts'
import type { Visit } from '../../../../../sys/trees/walk.ts'
import { withPath } from '../entry.ts'
import { readEntry, type ReadOptions } from './read-entry.ts'
import type { KnownEntry } from './stat-index.ts'

export interface ReadResult {
  /** Undefined if it is gone, or became something else: the next pass looks again. */
  readonly now: KnownEntry | undefined
  /** What the kernel told before anything was done to read it. */
  readonly seen: StatFingerprint
}

/**
 * Reads what is visited in one pass. To read a file that its owner may not, its mode is changed for a moment, and so what
 * the kernel tells under all its names: that would look like the work of somebody else. So it is read under the first
 * name alone, and the others have what was found there, as long as the kernel tells what it did when that was read.
 */
export function readOncePerInode(options: ReadOptions): (visit: Visit) => Coroutine<ReadResult> {
  const readings = new Map<string, { readonly now: KnownEntry; readonly seen: StatFingerprint }>()
  return function* (visit) {
    const { path, name, directory, print } = visit
    if (!isLockedTwin(print)) return { now: yield* readEntry(visit, options), seen: print }
    const first = readings.get(identityIn(print))
    if (first !== undefined && statEntry(directory, name)?.print === first.now.print) {
      const seen = print === first.now.print ? first.seen : print
      return { now: { ...first.now, line: withPath(first.now.line, path) }, seen }
    }
    const now = yield* readEntry(visit, options)
    if (now !== undefined) readings.set(identityIn(print), { now, seen: print })
    return { now, seen: print }
  }
}

function isLockedTwin(print: StatFingerprint): boolean {
  const { kind, mode, links } = decodeStat(print)
  return kind === 'file' && links > 1 && (mode & 0o400) === 0
}
