import type { SnapshotId } from '../../domain/ids.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { baseOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { snapshotsOf } from './lookup.ts'

/** What a frozen tree could not hold of the one it was taken of: told wherever it is taken for that one. */

const maxReported = 20
const asText = (path: string): string => Buffer.from(path, 'latin1').toString()

/** The first of them, as people see them. */
export const reportedPaths = (paths: readonly string[]): string[] => paths.slice(0, maxReported).map(asText)

/** In an answer or in the log: nothing, if nothing was. */
export const omissionsField = (left: readonly string[]): { left_out?: readonly string[] } =>
  left.length === 0 ? {} : { left_out: left }

/** What a snapshot says itself; also one that a fork began as, which is another workspace's. */
export async function omissionsOf(core: Core, workspace: Workspace, snapshot: SnapshotId): Promise<readonly string[]> {
  const { source } = workspace
  const own = (await snapshotsOf(core, workspace.id)).get(snapshot)
  if (own !== undefined || source.kind !== 'workspace' || baseOf(workspace) !== snapshot) return omissionsIn(own?.meta)
  return omissionsIn((await snapshotsOf(core, source.workspace)).get(snapshot)?.meta)
}

/** Metadata is anybody's to write. */
export function omissionsIn(meta: Readonly<Record<string, unknown>> = {}): readonly string[] {
  const { left_out: left } = meta
  return Array.isArray(left) ? left.filter((path) => typeof path === 'string') : []
}

/** What a snapshot of a tree would not hold now. */
export const omissionsOfTree = async (core: Core, tree: Place): Promise<readonly string[]> =>
  reportedPaths((await core.storage.unheld?.(tree)) ?? [])

/** As exports tell it, where `below` is what is exported of the tree. */
export const omissionsBelow = (
  left: readonly string[],
  below: string,
  reason = 'btrfs subvolume',
): { path: string; reason: string }[] =>
  left.flatMap((path) => {
    if (below === '.') return [{ path, reason }]
    if (`${below}/`.startsWith(`${path}/`)) return [{ path: '.', reason }]
    return path.startsWith(`${below}/`) ? [{ path: path.slice(below.length + 1), reason }] : []
  })

export const omissionsOfContent = (
  left: readonly string[],
  { profile }: Workspace,
  reason?: string,
): { path: string; reason: string }[] => omissionsBelow(left, profileOf(profile).content, reason)
