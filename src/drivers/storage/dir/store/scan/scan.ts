import { type ScannedTree, scanWithHelper } from '../../../../../sys/trees/scan-helper.ts'
import type { Coroutine } from '../../../../../sys/safe-fs/coroutine.ts'
import { runCancellable } from '../../../../../sys/trees/run-cancellable.ts'
import { statEntry, type StatFingerprint } from '../../../../../sys/trees/stat.ts'
import { walkTree, type Visit } from '../../../../../sys/trees/walk.ts'
import {
  type ChangedEntries,
  collectChanged,
  isDifferent,
  readChanged,
  type ScanOptions,
  type ScanPass,
} from './changed-entries.ts'
import { isUnchanged, recentlyChanged, rereadMatches } from './verify-scan.ts'
import { readOncePerInode } from './read-once.ts'
import type { KnownEntry } from './stat-index.ts'

export interface Scanned {
  /** By path, in order. */
  readonly entries: ReadonlyMap<string, KnownEntry>
  /** Whether it is the tree at one instant: nothing was written while it was read. */
  readonly quiet: boolean
}

const maxPasses = 4

/**
 * Reads a tree as it is. All of it is looked at, what is not known is read; then it is looked at again, until one pass
 * finds everything as the pass before had left it. Each thing was then the same from one look to the next, so all of them
 * were as they are told at the moment between the two passes. What was changed a moment ago is read again each time, as a
 * look might not tell of a change in the same tick of the kernel's clock.
 */
export async function scanTree(top: number, options: ScanOptions): Promise<Scanned> {
  let known = options.known
  for (let pass = 1; ; pass++) {
    const found = collectChanged(options, pass > 1)
    const looking = options.alone === true ? undefined : scanWithHelper(top, { ...options, ...found })
    // While it looks.
    const remembering = found.compareWith(known)
    await using stat = await looking
    await remembering
    const steps = stat === undefined ? walkOnce(top, found) : readChanged(top, found)
    const { entries, changed } = await runCancellable(steps, options.signal)
    if (options.still || (pass > 1 && changed === 0)) return { entries, quiet: true }
    if (await isProven(entries, stat)) return { entries, quiet: true }
    if (pass === maxPasses) return { entries, quiet: false }
    known = () => entries
  }

  async function isProven(entries: ReadonlyMap<string, KnownEntry>, stat: ScannedTree | undefined): Promise<boolean> {
    const recent = recentlyChanged(entries, options)
    if (recent === undefined) return false
    const isSame = stat?.isUnchanged() ?? runCancellable(isUnchanged(top, entries), options.signal)
    if (!(await isSame)) return false
    return recent.length === 0 || runCancellable(rereadMatches(top, entries, recent, options), options.signal)
  }
}

/** One directory after the other, by ourselves. */
function* walkOnce(top: number, { isAsBefore, options, isProof, ...known }: ChangedEntries): Coroutine<ScanPass> {
  const before = known.before()
  const read = readOncePerInode(options)
  const entries = new Map<string, KnownEntry>()
  let changed = 0
  const relocked = (path: string, print: StatFingerprint): void => {
    const entry = entries.get(path)
    if (entry) entries.set(path, { ...entry, print })
  }
  const visits = walkTree(top, { exclude: options.exclude, mounts: options.mounts, onRelocked: relocked })
  try {
    const first = statEntry(top, '')
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

  function* add(visit: Visit): Coroutine<void> {
    const { now, seen } = yield* read(visit)
    if (isDifferent(now, seen, before.get(visit.path))) changed += 1
    if (now !== undefined) entries.set(visit.path, now)
    yield
  }
}
