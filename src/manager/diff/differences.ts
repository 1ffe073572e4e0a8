import type { Outputs } from '../../api/table.ts'
import { toAwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { Change } from '../../domain/trees/diff.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { type ChangeOptions, changesBetween } from '../sandboxes/placeholders.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'

/**
 * Whether a workspace's tree, or another snapshot of it, differs from a snapshot. Looks at a few differences, and at all
 * only if none of those is told. A snapshot that is damaged or gone is equal to nothing.
 * @param how `exact` if the snapshot is taken for the tree where they do not differ
 */
export async function differs(
  core: Core,
  workspace: Workspace,
  snapshot: SnapshotId,
  other: Place = volumeOf(workspace),
  how: Pick<ChangeOptions, 'exact'> = {},
): Promise<boolean> {
  try {
    let found = 0
    const looking = { ...how, enough: few, onFound: () => (found += 1) }
    for await (const _ of changesSince(core, workspace, snapshot, other, looking)) return true
    if (found < few) return false
    for await (const _ of changesSince(core, workspace, snapshot, other, how)) return true
    return false
  } catch (error) {
    if (isSnapshotDamaged(error)) return true
    throw error
  }
}

const few = 20

/** In the workspace's tree, or in another snapshot of it. */
export const changesSince = (
  core: Core,
  workspace: Workspace,
  snapshot: SnapshotId,
  place: Place = volumeOf(workspace),
  looking: ChangeOptions = {},
): AsyncIterable<Change> =>
  changesBetween(core, { workspace, place: snapshotPlace(snapshot) }, { workspace, place }, looking)

/** A snapshot cannot be read any more: its content is not what it was, or something other than aw removed it. */
export const isSnapshotDamaged = (error: unknown): boolean => {
  const { code, data } = toAwError(error)
  return data['reason'] === 'damaged' || code === 'snapshot_not_found'
}

/**
 * In how many paths; a renamed one is two, as in the note of a snapshot. At least one if the snapshot is damaged or
 * gone: then nobody knows how many.
 */
export async function countChangesFrom(core: Core, workspace: Workspace, snapshot: SnapshotId): Promise<number> {
  let count = 0
  try {
    const changes = changesSince(core, workspace, snapshot, volumeOf(workspace), { renames: false })
    for await (const change of changes) count += pathChanges(change).length
    return count
  } catch (error) {
    if (isSnapshotDamaged(error)) return Math.max(count, 1)
    throw error
  }
}

type Restored = Outputs['restore']

const most = 100

/** What a restore did: from what was there to what is there now. */
export async function countChanges(
  core: Core,
  workspace: Workspace,
  was: SnapshotId,
  is: SnapshotId,
  paths: readonly string[] | null,
) {
  const counts = { added: 0, changed: 0, removed: 0 }
  const changes: string[] = []
  const differences: Restored['differences'][number][] = []
  for await (const change of changesSince(core, workspace, was, snapshotPlace(is))) {
    const all = pathChanges(change)
    const steps = all.filter(([path, kind]) => isBelow(path, paths) || (kind === 'added' && isAbove(path, paths)))
    for (const [, kind] of steps) counts[kind] += 1
    if (changes.length >= most) continue
    changes.push(...steps.map(([path]) => path))
    // Half of a rename is no rename to who asked for that half.
    if (steps.length === all.length && change.change === 'renamed') differences.push(changeView(change))
    else differences.push(...steps.map(([path, kind]) => ({ path, change: kind, from: null })))
  }
  return { ...counts, changes: changes.slice(0, most), differences }
}

export const changeView = ({
  path,
  change,
  from,
}: Pick<Change, 'path' | 'change' | 'from'>): Restored['differences'][number] => ({
  path: shownPath(path),
  change,
  from: from === undefined ? null : shownPath(from),
})

/** A rename is a path that came and one that went. */
export function pathChanges({ path, change, from }: Change): (readonly [string, 'added' | 'changed' | 'removed'])[] {
  if (change !== 'renamed') return [[shownPath(path), change]]
  return [[shownPath(path), 'added'] as const, ...(from === undefined ? [] : [[shownPath(from), 'removed'] as const])]
}

/** Names are bytes; what is no text in them is shown as a replacement character. */
export const shownPath = (path: string): string => Buffer.from(path, 'latin1').toString()

/** A directory that one of them has come back with. */
const isAbove = (path: string, paths: readonly string[] | null): boolean =>
  paths?.some((inner) => inner.startsWith(`${path}/`)) === true

export const isBelow = (path: string, paths: readonly string[] | null): boolean =>
  paths === null || paths.some((outer) => path === outer || path.startsWith(`${outer}/`))
