import type { Change, DiffOptions, Place } from '../../../ports/storage-driver.ts'
import { compareTrees } from '../../../sys/trees/compare.ts'
import { candidatePaths } from './kernel/changes.ts'
import { bottomLayer, filesOf, isUnchanged, workOf } from './kernel/layers.ts'
import { joinLinks } from './kernel/links.ts'
import { readRecord, type Stack } from './kernel/records.ts'
import { isFrozen } from '../root/tree-root.ts'
import { type Overlay, stackOf, upperOf, withView } from './context.ts'

/**
 * What differs between two trees. Of two that have layers in common, only what the other layers name is looked at; those
 * that have none are compared whole.
 */
export async function diffTrees(
  overlay: Overlay,
  from: Place,
  to: Place,
  options: DiffOptions = {},
): Promise<Change[]> {
  const stacks = [stackOf(overlay, from), stackOf(overlay, to)] as const
  if (isEqual(overlay, ...stacks, options.exclude)) return []
  return withView(overlay, from, (before) =>
    withView(overlay, to, (after) => {
      nameLinks(overlay, from, before)
      nameLinks(overlay, to, after)
      const layers = ownLayers(...stacks)?.map((id) => filesOf(overlay.root, id))
      const only = layers && candidatePaths(layers, [before, after])
      return compareTrees(before, after, { ...options, only, identity: 'inode', where: 'layer' })
    }),
  )
}

/** The same layers, or one more that says nothing: told without looking into the trees. */
function isEqual({ root }: Overlay, one: Stack, other: Stack, except: readonly string[] = []): boolean {
  const [few, many] = one.length < other.length ? [one, other] : [other, one]
  if (few.join() === many.join()) return true
  return few.join() === many.slice(1).join() && isUnchanged(root, many, except)
}

/** A file with several names that was written to is told under each of them. */
function nameLinks(overlay: Overlay, place: Place, view: string): void {
  if (!isFrozen(place)) joinLinks(workOf(overlay.root, upperOf(stackOf(overlay, place))), view)
}

/** Those of either tree that are above the ones they share; undefined if they share none. */
function ownLayers(one: Stack, other: Stack): string[] | undefined {
  let shared = 0
  while (shared < Math.min(one.length, other.length) && one.at(-1 - shared) === other.at(-1 - shared)) shared += 1
  const common = one.at(-shared)
  if (shared === 0 || common === bottomLayer) return undefined
  return [...one.slice(0, -shared), ...other.slice(0, -shared)]
}

/** Null if nobody asked, or if that would be as much work as a look at everything, unless that was done anyway. */
export async function countChanges(
  overlay: Overlay,
  since: Place | undefined,
  to: Place,
  { exclude, signal, looked = false }: DiffOptions & { readonly looked?: boolean },
): Promise<number | null> {
  if (since === undefined) return null
  const before = readRecord(overlay.root, since)
  if (before === undefined || (!looked && ownLayers(before, stackOf(overlay, to)) === undefined)) return null
  return (await diffTrees(overlay, since, to, { exclude, signal, renames: false })).length
}
