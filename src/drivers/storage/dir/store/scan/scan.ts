import { type Looked, lookWithProgram } from '../../../../../sys/trees/scan-helper.ts'
import type { Steps } from '../../../../../sys/safe-fs/coroutine.ts'
import { politely } from '../../../../../sys/trees/run-cancellable.ts'
import { look, type Print } from '../../../../../sys/trees/stat.ts'
import { walkTree, type Visit } from '../../../../../sys/trees/walk.ts'
import { differing, type Differing, isAnother, type Pass, readDiffering, type ScanOptions } from './changed-entries.ts'
import { isReadAgain, isUnchanged, recentOf } from './verify-scan.ts'
import { readingOnce } from './read-once.ts'
import type { Known } from './stat-index.ts'

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
 * were as they are told at the moment between the two passes. What was changed a moment ago is read again each time, as a
 * look might not tell of a change in the same tick of the kernel's clock.
 */
export async function scanTree(top: number, options: ScanOptions): Promise<Scanned> {
  let known = options.known
  for (let pass = 1; ; pass++) {
    const found = differing(options, pass > 1)
    const looking = options.alone === true ? undefined : lookWithProgram(top, { ...options, ...found })
    // While it looks.
    const remembering = found.compareWith(known)
    await using looked = await looking
    await remembering
    const steps = looked === undefined ? walkOnce(top, found) : readDiffering(top, found)
    const { entries, changed } = await politely(steps, options.signal)
    if (options.still || (pass > 1 && changed === 0)) return { entries, quiet: true }
    if (await isProven(entries, looked)) return { entries, quiet: true }
    if (pass === mostPasses) return { entries, quiet: false }
    known = () => entries
  }

  async function isProven(entries: ReadonlyMap<string, Known>, looked: Looked | undefined): Promise<boolean> {
    const recent = recentOf(entries, options)
    if (recent === undefined) return false
    const isSame = looked?.isUnchanged() ?? politely(isUnchanged(top, entries), options.signal)
    if (!(await isSame)) return false
    return recent.length === 0 || politely(isReadAgain(top, entries, recent, options), options.signal)
  }
}

/** One directory after the other, by ourselves. */
function* walkOnce(top: number, { isAsBefore, options, isProof, ...known }: Differing): Steps<Pass> {
  const before = known.before()
  const read = readingOnce(options)
  const entries = new Map<string, Known>()
  let changed = 0
  const relocked = (path: string, print: Print): void => {
    const entry = entries.get(path)
    if (entry) entries.set(path, { ...entry, print })
  }
  const visits = walkTree(top, { exclude: options.exclude, mounts: options.mounts, onRelocked: relocked })
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

  function* add(visit: Visit): Steps<void> {
    const { now, seen } = yield* read(visit)
    if (isAnother(now, seen, before.get(visit.path))) changed += 1
    if (now !== undefined) entries.set(visit.path, now)
    yield
  }
}
