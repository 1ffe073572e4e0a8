import type { Change, DiffOptions } from '../../../ports/storage-driver.ts'
import { compareTrees } from '../../../sys/trees/compare.ts'
import { assertNoMountsBelow } from '../../../sys/trees/mounts-in.ts'
import { scanForComparison } from './snapshot.ts'
import type { Manifest } from './store/manifest.ts'
import { diffManifests } from './store/scan/diff-manifests.ts'
import type { Store } from './store/store.ts'

export interface Tree {
  readonly path: string
  /** Of a frozen one. */
  readonly manifest: Manifest | undefined
}

/** Two directories are compared with each other; of one and a manifest, a manifest is made first. */
export async function diffTrees(
  store: Store,
  from: Tree,
  to: Tree,
  { exclude, signal, enough, exact, renames }: DiffOptions = {},
): Promise<Iterable<Change>> {
  // One of them is taken for the other: then nothing may be hidden.
  if (exact)
    for (const { path, manifest } of [from, to]) if (manifest === undefined) assertNoMountsBelow(path, { exclude })
  const frozen = from.manifest ?? to.manifest
  if (frozen === undefined) return compareTrees(from.path, to.path, { exclude, signal, enough, exact, renames })
  const manifestOf = async ({ path, manifest }: Tree): Promise<Manifest> =>
    manifest ?? scanForComparison(store, path, frozen, { exclude, signal })
  return diffManifests(await manifestOf(from), await manifestOf(to), { exclude, exact })
}
