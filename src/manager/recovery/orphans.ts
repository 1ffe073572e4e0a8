import { AwError } from '../../domain/errors.ts'
import { profiles } from '../../domain/workspace/profiles.ts'
import type { Source, Workspace } from '../../domain/workspace/state.ts'
import type { Area, Place } from '../../ports/storage-driver.ts'
import type { Core, Request } from '../core.ts'
import { readMetadata, writeMetadata } from '../kernel/metadata.ts'
import { volumeOf } from '../kernel/places.ts'
import { applyKernelLimit } from '../space/size-limit.ts'
import { existsAt, openTree } from '../kernel/trees.ts'
import type { UndoLog } from '../kernel/rollback.ts'

/**
 * Trees on disk that the log does not know, as `area/name`. One that can be written to becomes the tree of a workspace,
 * by a rename; of one that is frozen, a workspace is made. Nothing of them is ever erased.
 */

type OrphanSource = Extract<Source, { kind: 'orphan' }>

const taken: readonly Area[] = ['volumes', 'trash', 'snapshots', 'bases']

const placeOf = ({ tree }: OrphanSource): Place => {
  const cut = tree.indexOf('/')
  return { area: tree.slice(0, cut) as Area, name: tree.slice(cut + 1) }
}

/** It is moved, so that as long as it is not at its place it is where it was. */
export const isMoved = (source: Source): source is OrphanSource =>
  source.kind === 'orphan' && ['volumes', 'trash'].includes(placeOf(source).area)

/** What a workspace is made from, if the tree is one of those that were found. */
export function orphanSource(tree: string, orphans: readonly string[]): OrphanSource {
  const source: OrphanSource = { kind: 'orphan', tree }
  // What was being erased is not whole.
  if (orphans.includes(tree) && taken.includes(placeOf(source).area) && !tree.endsWith('.erasing')) return source
  throw new AwError('workspace_not_found', `There is no tree ${tree} that could be brought back`, {
    hint: 'aw recover lists the trees that the log does not know',
    data: { tree },
  })
}

/** The layout that it has, by what is in it. A frozen tree has no metadata. */
export async function profileIn(core: Core, source: OrphanSource): Promise<string> {
  const has = (path: string): Promise<boolean> => existsAt(core, placeOf(source), path)
  for (const { name, metadata } of Object.values(profiles)) if (metadata !== '.aw' && (await has(metadata))) return name
  if (await has('work')) return 'aw'
  return (await has('mnt')) ? 'session' : 'repo'
}

/** Makes the volume of a workspace from it. */
export async function takeOrphan(
  core: Core,
  request: Request,
  workspace: Workspace & { readonly source: OrphanSource },
  undo: UndoLog,
): Promise<void> {
  const [place, volume] = [placeOf(workspace.source), volumeOf(workspace)]
  if (isMoved(workspace.source)) {
    undo.add(() => putBack(core, workspace))
    await core.storage.move(place, volume)
  } else {
    undo.add(() => core.storage.erase(volume))
    await core.storage.create(volume, {
      from: place,
      signal: request.signal,
      onProgress: (done) => request.onProgress?.({ phase: 'copying', ...done }),
    })
  }
  await setUpOrphan(core, workspace)
}

/** What aw has in a tree of its own. Safe to repeat. */
export async function setUpOrphan(core: Core, workspace: Workspace): Promise<void> {
  const volume = volumeOf(workspace)
  await core.storage.ready(volume)
  await applyKernelLimit(core, workspace, volume)
  const documents = await readMetadata(core, workspace)
  using tree = await openTree(core, volume)
  writeMetadata(tree, workspace, documents)
}

/** Back to where it was. Safe to repeat. */
export async function putBack(core: Core, workspace: Workspace): Promise<void> {
  const { source } = workspace
  if (!isMoved(source)) return
  const [place, volume] = [placeOf(source), volumeOf(workspace)]
  if (await core.storage.exists(place)) return
  if (await core.storage.exists(volume)) await core.storage.move(volume, place)
}

export const noBaseline = ({ tree }: OrphanSource): AwError =>
  new AwError('source_failed', `It is ${tree}, which the log did not know: nobody knows what that began as`, {
    hint: 'Go back to one of its snapshots instead: aw restore',
    data: { tree },
  })
