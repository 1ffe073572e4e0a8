import { toAwError } from '../../domain/errors.ts'
import { isSnapshotId, type SnapshotId } from '../../domain/ids.ts'
import type { ChangeEntry } from '../../domain/trees/diff.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import type { FileHandle } from '../../ports/files.ts'
import type { DiffOptions, Place } from '../../ports/storage-driver.ts'
import { visibleChange, type VisibleChange } from '../diff/visible-changes.ts'
import type { Core } from '../core.ts'
import { excludedPaths, snapshotsOf } from '../snapshots/lookup.ts'
import type { KnownTree } from '../kernel/known-tree.ts'
import { openTree } from '../kernel/trees.ts'

/**
 * Names that are in a tree, empty, only because a sandbox is around it which holds them read-only. They go with the
 * sandbox; a snapshot that was taken meanwhile has them for good, and says so in the log. They are nobody's work: they
 * are told by no diff, and are in no tree that is made from the snapshot.
 */

/** What sandboxes need in the tree of a workspace as it is now; also those that are just being started or removed. */
export async function placeholderNames(core: Core, workspace: Workspace): Promise<string[]> {
  const own = (workspace.commands ?? []).filter(({ own_sandbox }) => own_sandbox)
  const all = [...(workspace.sandbox === undefined ? [] : [workspace.sandbox]), ...own]
  const names: string[] = []
  for (const { sandbox, isolation } of all)
    names.push(...(await (await core.sandboxes(isolation)).placeholders(sandbox)))
  return [...new Set(names)]
}

/** Those that a tree may have; whoever filled one has made it theirs, which only the tree tells. */
async function placeholdersAt(core: Core, { workspace, place }: KnownTree): Promise<readonly string[]> {
  if (place.area === 'volumes') return placeholderNames(core, workspace)
  return place.area === 'snapshots' && isSnapshotId(place.name)
    ? placeholdersInSnapshot(core, workspace, place.name)
    : []
}

/** Of a fork's base those that the workspace has told that took it. */
async function placeholdersInSnapshot(
  core: Core,
  workspace: Workspace,
  snapshot: SnapshotId,
): Promise<readonly string[]> {
  let { id, source } = workspace
  for (let step = 0; step < maxForks; step++) {
    // What a fork began as is another's: then its own history, which may be long, need not be read.
    const isBase = source.kind === 'workspace' && source.snapshot === snapshot
    const found = isBase ? undefined : (await snapshotsOf(core, id)).get(snapshot)
    if (found !== undefined) return found.passing ?? []
    const from = source.kind === 'workspace' ? await core.store.get(source.workspace) : undefined
    if (from === undefined) return []
    ;({ id, source } = from)
  }
  return []
}

const maxForks = 1000

export interface ChangeOptions extends Pick<DiffOptions, 'signal' | 'enough' | 'exact' | 'renames'> {
  /** Something differs, told or not. */
  readonly onFound?: () => void
}

/** What differs from one tree to another, without such names and without what aw writes for agents. */
export async function* changesBetween(
  core: Core,
  from: KnownTree,
  to: KnownTree,
  { onFound, ...looking }: ChangeOptions = {},
): AsyncGenerator<VisibleChange> {
  const exclude = excludedPaths(from.workspace, to.workspace)
  const [were, are] = [known(core, from), known(core, to)]
  for await (const change of core.storage.diff(from.place, to.place, { ...looking, exclude })) {
    onFound?.()
    if (change.change === 'added' && isEmpty(change.after) && (await are()).has(change.path)) continue
    if (change.change === 'removed' && isEmpty(change.before) && (await were()).has(change.path)) continue
    const told = await visibleChange(core, from, to, change)
    if (told !== undefined) yield told
  }
}

/** Asked for once, and only where there is something that may be one of them. */
function known(core: Core, tree: KnownTree): () => Promise<ReadonlySet<string>> {
  let found: Promise<ReadonlySet<string>> | undefined
  return () => (found ??= placeholdersAt(core, tree).then((names) => new Set(names.map(asBytes))))
}

const asBytes = (path: string): string => Buffer.from(path).toString('latin1')

/** What is in a directory is told besides. */
const isEmpty = (entry: ChangeEntry | null): boolean =>
  entry?.kind === 'directory' || (entry?.kind === 'file' && entry.size === 0)

/** Takes them out of a tree that was made from a snapshot, as far as they are still empty. Safe to repeat. */
export async function removePlaceholders(
  core: Core,
  made: Place,
  from: KnownTree,
  at: (path: string) => string | undefined = (path) => path,
): Promise<void> {
  const names = (await placeholdersAt(core, from)).flatMap((path) => at(path) ?? [])
  if (names.length === 0) return
  using tree = await openTree(core, made)
  for (const path of names) if (isEmptyAt(tree, path)) tree.remove(path, { missing: 'ignore' })
}

function isEmptyAt(tree: FileHandle, path: string): boolean {
  try {
    // Through a link it would be another one.
    if (tree.resolve(path).path !== path) return false
    const { kind, size } = tree.stat(path, { follow: false })
    return kind === 'directory' ? tree.list(path, { limit: 1 }).entries.length === 0 : kind === 'file' && size === 0
  } catch (error) {
    if (notThere.has(toAwError(error).code)) return false
    throw error
  }
}

const notThere: ReadonlySet<string> = new Set([
  'file_not_found',
  'not_a_directory',
  'path_outside_workspace',
  'symlink_outside_workspace',
  'cannot_resolve_symlinks',
])
