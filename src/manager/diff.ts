import type { Inputs, Outputs } from '../api/table.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import { isSnapshotId, isWorkspaceId, type SnapshotId } from '../domain/ids.ts'
import { isText, unifiedDiff } from '../domain/text-diff.ts'
import type { Change } from '../domain/tree-diff.ts'
import { assertAllowed } from '../domain/workspace/allow.ts'
import type { Workspace } from '../domain/workspace/state.ts'
import type { Place } from '../ports/storage-driver.ts'
import type { Core, Request } from './core.ts'
import { findWorkspace } from './find.ts'
import { checkpointSignal } from './operations.ts'
import { snapshotPlace, volumeOf } from './places.ts'
import { checkedPaths } from './restore-paths.ts'
import { excluded, resolveSnapshot } from './snapshots.ts'

/**
 * Whether a workspace's tree, or another snapshot of it, differs from a snapshot. Stops at the first difference. A
 * snapshot that is damaged is equal to nothing.
 */
export async function differs(
  core: Core,
  workspace: Workspace,
  snapshot: SnapshotId,
  other: Place = volumeOf(workspace),
): Promise<boolean> {
  try {
    const exclude = excluded(workspace)
    for await (const _ of core.storage.diff(snapshotPlace(snapshot), other, { exclude })) return true
    return false
  } catch (error) {
    if (isDamage(error)) return true
    throw error
  }
}

const isDamage = (error: unknown): boolean => toAwError(error).data['reason'] === 'damaged'

/** At least one if the snapshot is damaged: then nobody knows how many. */
export async function countDifferences(core: Core, workspace: Workspace, snapshot: SnapshotId): Promise<number> {
  let count = 0
  const from = snapshotPlace(snapshot)
  try {
    for await (const _ of core.storage.diff(from, volumeOf(workspace), { exclude: excluded(workspace) })) count += 1
    return count
  } catch (error) {
    if (isDamage(error)) return Math.max(count, 1)
    throw error
  }
}

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
  const differences = core.storage.diff(snapshotPlace(was), snapshotPlace(is), { exclude: excluded(workspace) })
  for await (const change of differences) {
    for (const [path, kind] of stepsOf(change)) {
      if (!isBelow(path, paths)) continue
      counts[kind] += 1
      if (changes.length < most) changes.push(path)
    }
  }
  return { ...counts, changes }
}

/** A rename is a path that came and one that went. */
export function stepsOf({ path, change, from }: Change): (readonly [string, 'added' | 'changed' | 'removed'])[] {
  if (change !== 'renamed') return [[shownPath(path), change]]
  return [[shownPath(path), 'added'] as const, ...(from === undefined ? [] : [[shownPath(from), 'removed'] as const])]
}

/** Names are bytes; what is no text in them is shown as a replacement character. */
const shownPath = (path: string): string => Buffer.from(path, 'latin1').toString()

export const isBelow = (path: string, paths: readonly string[] | null): boolean =>
  paths === null || paths.some((outer) => path === outer || path.startsWith(`${outer}/`))

type View = Outputs['diff']

export async function* diff(core: Core, input: Inputs['diff'], request: Request): AsyncGenerator<View> {
  const paths = input.paths === undefined ? null : checkedPaths(input.paths)
  const { from, to, exclude } = await sides(core, input)
  const options = { exclude, signal: request.signal }
  let left = input.limit ?? Infinity
  for await (const change of core.storage.diff(from, to, options)) {
    checkpointSignal(request)
    if (!stepsOf(change).some(([path]) => isBelow(path, paths))) continue
    const view = viewOf(change)
    yield input.text === true ? { ...view, ...(await textOf(core, { from, to }, change, input)) } : view
    left -= 1
    if (left <= 0) return
  }
}

const viewOf = ({ path, change, from, what, before, after }: Change): View => ({
  path: shownPath(path),
  change,
  from: from === undefined ? null : shownPath(from),
  what,
  before,
  after,
})

interface Side {
  readonly place: Place
  readonly workspace: Workspace
}

async function sides(core: Core, input: Inputs['diff']): Promise<{ from: Place; to: Place; exclude: string[] }> {
  if (input.to === undefined) {
    const one = await sideOf(core, input.from)
    assertAllowed(one.workspace, 'files_read')
    const now = { ...one, place: volumeOf(one.workspace) }
    const head = one.place.area === 'snapshots' ? one.place : snapshotPlace(headOf(one.workspace))
    return { from: head, to: now.place, exclude: excluded(one.workspace) }
  }
  const [from, to] = [await sideOf(core, input.from), await sideOf(core, input.to)]
  return { from: from.place, to: to.place, exclude: excluded(from.workspace, to.workspace) }
}

function headOf(workspace: Workspace): SnapshotId {
  if (workspace.head !== null) return workspace.head
  const name = `${workspace.task}/${workspace.agent}`
  throw new AwError('snapshot_not_found', `${name} has no snapshot to compare with`, {
    hint: `Take one (aw snapshot ${name}), or name another workspace`,
    data: { id: workspace.id },
  })
}

/** `task/agent`, `task/agent@snapshot`, or a snapshot's id alone. */
async function sideOf(core: Core, ref: string): Promise<Side> {
  if (isSnapshotId(ref)) return bySnapshot(core, ref)
  const cut = ref.indexOf('@')
  const workspace = await findWorkspace(core, cut === -1 ? ref : ref.slice(0, cut))
  if (cut === -1) {
    assertAllowed(workspace, 'files_read')
    return { place: volumeOf(workspace), workspace }
  }
  return { place: snapshotPlace(await resolveSnapshot(core, workspace, ref.slice(cut + 1))), workspace }
}

/** Whose it is, is in the log alone. */
async function bySnapshot(core: Core, id: SnapshotId): Promise<Side> {
  for await (const event of core.store.follow({ types: ['snapshot_created', 'workspace_restored'] })) {
    const made =
      event.type === 'snapshot_created'
        ? [event.data.snapshot]
        : event.type === 'workspace_restored'
          ? event.data.kept.map(({ snapshot }) => snapshot)
          : []
    if (!made.includes(id) || !isWorkspaceId(event.stream)) continue
    const workspace = await core.store.get(event.stream)
    if (workspace === undefined) break
    return { place: snapshotPlace(await resolveSnapshot(core, workspace, id)), workspace }
  }
  throw new AwError('snapshot_not_found', `There is no snapshot ${id}`, { data: { snapshot: id } })
}

/** Texts of both sides, read one file at a time. */
async function textOf(
  core: Core,
  places: { from: Place; to: Place },
  { path, from = path, before, after }: Change,
  input: Inputs['diff'],
): Promise<Partial<View>> {
  if (before?.kind !== 'file' && after?.kind !== 'file') return {}
  const maxBytes = input.max_bytes ?? 1024 * 1024
  const read = async (place: Place, name: string, isFile: boolean): Promise<Buffer> =>
    isFile ? core.storage.read(place, name, { maxBytes }) : Buffer.alloc(0)
  try {
    const old = await read(places.from, from, before?.kind === 'file')
    const now = await read(places.to, path, after?.kind === 'file')
    if (!isText(old) || !isText(now)) return { binary: true }
    const names = { before: before === null ? null : shownPath(from), after: after === null ? null : shownPath(path) }
    const text = unifiedDiff(old.toString(), now.toString(), names)
    return { text }
  } catch (error) {
    const { code, message } = toAwError(error)
    // A live tree may have lost it since.
    if (code === 'file_too_large' || code === 'file_not_found' || code === 'not_a_file') return { omitted: message }
    throw error
  }
}
