import type { SnapshotId } from '../../domain/ids.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { baseOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core } from '../core.ts'
import { snapshotsOf } from './lookup.ts'

/** What a frozen tree could not hold of the one it was taken of: told wherever it is taken for that one. */

const mostTold = 20
const asText = (path: string): string => Buffer.from(path, 'latin1').toString()

/** The first of them, as people see them. */
export const toldPaths = (paths: readonly string[]): string[] => paths.slice(0, mostTold).map(asText)

/** In an answer or in the log: nothing, if nothing was. */
export const telling = (left: readonly string[]): { left_out?: readonly string[] } =>
  left.length === 0 ? {} : { left_out: left }

/** What a snapshot says itself; also one that a fork began as, which is another workspace's. */
export async function leftOutOf(core: Core, workspace: Workspace, snapshot: SnapshotId): Promise<readonly string[]> {
  const { source } = workspace
  const own = (await snapshotsOf(core, workspace.id)).get(snapshot)
  if (own !== undefined || source.kind !== 'workspace' || baseOf(workspace) !== snapshot) return leftOutIn(own?.meta)
  return leftOutIn((await snapshotsOf(core, source.workspace)).get(snapshot)?.meta)
}

/** Metadata is anybody's to write. */
export function leftOutIn(meta: Readonly<Record<string, unknown>> = {}): readonly string[] {
  const { left_out: left } = meta
  return Array.isArray(left) ? left.filter((path) => typeof path === 'string') : []
}

/** What a snapshot of a tree would not hold now. */
export const wouldLeaveOut = async (core: Core, tree: Place): Promise<readonly string[]> =>
  toldPaths((await core.storage.unheld?.(tree)) ?? [])

/** As exports tell it, where `below` is what is exported of the tree. */
export const leftOutBelow = (
  left: readonly string[],
  below: string,
  reason = 'btrfs subvolume',
): { path: string; reason: string }[] =>
  left.flatMap((path) => {
    if (below === '.') return [{ path, reason }]
    if (`${below}/`.startsWith(`${path}/`)) return [{ path: '.', reason }]
    return path.startsWith(`${below}/`) ? [{ path: path.slice(below.length + 1), reason }] : []
  })

export const leftOutOfContent = (
  left: readonly string[],
  { profile }: Workspace,
  reason?: string,
): { path: string; reason: string }[] => leftOutBelow(left, profileOf(profile).content, reason)
