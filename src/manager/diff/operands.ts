import { AwError } from '../../domain/errors.ts'
import { isSnapshotId, isWorkspaceId, type SnapshotId } from '../../domain/ids.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import { baseNameOf, baseOf, type Workspace } from '../../domain/workspace/state.ts'
import { basePlace } from '../sources/base-trees.ts'
import type { Core } from '../core.ts'
import { findWorkspace, lookUp } from '../kernel/find.ts'
import type { KnownTree } from '../kernel/known-tree.ts'
import { snapshotPlace, volumeOf } from '../kernel/places.ts'
import { isIdStart, resolveSnapshot } from '../snapshots/lookup.ts'

/** One of the trees that are compared. */
export interface Operand extends KnownTree {
  /** Which snapshot it is; null for a workspace as it is now, and for the base it began as. */
  readonly snapshot: SnapshotId | null
}

/** `task/agent`, `task/agent@snapshot`, or a snapshot's id alone. */
export async function operandOf(core: Core, ref: string): Promise<Operand> {
  if (await meansSnapshot(core, ref)) return bySnapshot(core, ref)
  const cut = ref.indexOf('@')
  const workspace = await findWorkspace(core, cut === -1 ? ref : ref.slice(0, cut))
  const base = ref.slice(cut) === '@base' && baseOf(workspace) === null ? baseNameOf(workspace) : null
  if (base !== null) return { place: basePlace(base), workspace, snapshot: null }
  if (cut !== -1) return frozen(workspace, await resolveSnapshot(core, workspace, ref.slice(cut + 1)))
  assertAllowed(workspace, 'files_read')
  return { place: volumeOf(workspace), workspace, snapshot: null }
}

const frozen = (workspace: Workspace, snapshot: SnapshotId): Operand => ({
  place: snapshotPlace(snapshot),
  workspace,
  snapshot,
})

/** Nobody who types `snap_` means a workspace, unless there is one of that name. */
export async function meansSnapshot(core: Core, ref: string): Promise<boolean> {
  if (isSnapshotId(ref)) return true
  return /^snap_[^@/]*$/.test(ref) && (isIdStart(ref) || (await lookUp(core, ref)) === undefined)
}

/** Whose it is, is in the log alone. */
async function bySnapshot(core: Core, ref: string): Promise<Operand> {
  const found = new Map<SnapshotId, Workspace>()
  for await (const event of core.store.follow({ types: ['snapshot_created', 'workspace_restored'] })) {
    const made =
      event.type === 'snapshot_created'
        ? [event.data.snapshot]
        : event.type === 'workspace_restored'
          ? event.data.kept.map(({ snapshot }) => snapshot)
          : []
    const meant = made.filter((id) => id === ref || (isIdStart(ref) && id.startsWith(ref)))
    if (meant.length === 0 || !isWorkspaceId(event.stream)) continue
    const workspace = await core.store.get(event.stream)
    if (workspace !== undefined) for (const id of meant) found.set(id, workspace)
    if (isSnapshotId(ref)) break
  }
  const [only, ...others] = found
  if (only !== undefined && others.length === 0) {
    const [id, workspace] = only
    return frozen(workspace, await resolveSnapshot(core, workspace, id))
  }
  const what = only === undefined ? `There is no snapshot ${ref}` : `${found.size} snapshots begin with ${ref}`
  throw new AwError('snapshot_not_found', what, {
    hint: 'See those of a workspace: aw snapshots NAME',
    data: { snapshot: ref },
  })
}
