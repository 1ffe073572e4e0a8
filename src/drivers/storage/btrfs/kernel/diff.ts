import { byPath, type Change } from '../../../../domain/trees/diff.ts'
import { type ChangedPaths, changedPaths } from './changed-paths.ts'
import { type ErasedOrigins, lastCommonTransaction } from './lineage.ts'
import { withSubvolume } from './subvolume.ts'
import { compareTrees } from '../../../../sys/trees/compare.ts'

interface DiffOptions {
  readonly erased: ErasedOrigins
  readonly exclude?: readonly string[] | undefined
  readonly enough?: number | undefined
  readonly exact?: boolean | undefined
  readonly renames?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * What differs between two frozen subvolumes of one origin, at the cost of what was written in either since they parted.
 * Undefined if they have no common origin, or none that can still be told. Only for root.
 */
export async function diffSubvolumes(
  before: string,
  after: string,
  { exclude, erased, ...options }: DiffOptions,
): Promise<Change[] | undefined> {
  const changed = changedBetween(before, after, exclude, erased)
  if (changed === undefined) return undefined
  return classify(before, after, changed, options)
}

/** How many differences that makes; a rename is two. Undefined also if more paths than `most` would have to be looked at. */
export async function countDifferences(
  before: string,
  after: string,
  { exclude, signal, erased, most }: DiffOptions & { readonly most: number },
): Promise<number | undefined> {
  const changed = changedBetween(before, after, exclude, erased)
  if (changed === undefined || changed.paths.size > most) return undefined
  return (await classify(before, after, changed, { signal, renames: false })).length
}

async function classify(
  before: string,
  after: string,
  changed: ChangedPaths,
  options: Omit<DiffOptions, 'exclude' | 'erased'>,
): Promise<Change[]> {
  const changes = await compareTrees(before, after, { ...options, only: changed.paths, identity: 'inode' })
  return changes.flatMap((change) => withoutReuse(change, changed)).sort(byPath)
}

const changedBetween = (before: string, after: string, exclude: readonly string[] | undefined, erased: ErasedOrigins) =>
  withSubvolume(before, (old) =>
    withSubvolume(after, (now) => {
      const since = lastCommonTransaction(old, now, erased)
      return since === undefined ? undefined : changedPaths(old, now, since, exclude)
    }),
  )

/**
 * Within one subvolume a number is not given twice while it is mounted, but after the next mount the highest may be, and
 * two that have parted give the same numbers to different files.
 */
function withoutReuse(change: Change, { newBefore, newAfter }: ChangedPaths): readonly Change[] {
  const { path, from, before, after } = change
  if (from === undefined || !(newAfter.has(path) || newBefore.has(from))) return [change]
  return [
    { path: from, change: 'removed', what: [], before, after: null },
    { path, change: 'added', what: [], before: null, after },
  ]
}
