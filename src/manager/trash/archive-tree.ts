import { AwError } from '../../domain/errors.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { nameOf, type TrashedTree, type Workspace } from '../../domain/workspace/state.ts'
import { withoutAgentBlocks } from '../workspaces/agent-blocks.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { append, begin, intentOf, isFenced, nameFields, rollBack } from '../kernel/operations.ts'
import { stageOf, trashOf } from '../kernel/places.ts'
import { settleDestroyed } from './settle-destroyed.ts'
import { copyOptions } from '../sources/fill.ts'
import { workspaceArchiveHeader } from '../sources/workspace-archive.ts'

/**
 * A tree that went to the trash because its time was over is packed into a file before it is erased, if that is wanted.
 * Not when it goes to the trash: from there it can be brought back, so nothing is lost yet, and a file would take space
 * when space is short. What somebody destroyed is gone by that wish.
 */
export function needsArchive(core: Core, workspace: Workspace, { tree, reason, at }: TrashedTree): boolean {
  if (!core.config.settings['archive.before_expiry'] || reason !== 'retention') return false
  // A tree that was brought back and expired again has its name, and is not what was packed then.
  return !(workspace.archives ?? []).some((made) => made.tree === tree && made.at >= at)
}

/** Packs a tree of the trash, from a copy that nobody else can reach. Needs the lock of its workspace. */
export async function archiveTree(core: Core, request: Request, found: Workspace, tree: string): Promise<Workspace> {
  await settleDestroyed(core, found)
  const path = core.archiveStore.pathOf(archiveName(core, found))
  await core.archiveStore.prepare({ used: await wasUsed(core, path) })
  // Whatever is there later is ours.
  if (await core.archiveStore.has(path)) throw new AwError('file_exists', `There is a file already: ${path}`)
  const data = { ...nameFields(found), tree, path }
  const started = await begin(core, request, found, 'workspace_archive_started', 'archive', data)
  const { workspace, operation } = started
  try {
    const made = await pack(core, request, workspace, operation)
    await core.storage.erase(stageOf(operation))
    const event = newEvent(
      core,
      request,
      'workspace_archived',
      { ...nameFields(workspace), tree, path, ...made },
      operation,
    )
    return await append(core, request, workspace, [event])
  } catch (error) {
    if (!isFenced(error))
      await rollBack(core, request, started, 'archive', error, () => undoArchive(core, workspace, operation))
    throw error
  }
}

/** Whether the log has archives in the directory of this one. */
async function wasUsed(core: Core, path: string): Promise<boolean> {
  const directoryOf = (file: string): string => file.slice(0, file.lastIndexOf('/'))
  const made = (await core.store.list()).flatMap(({ archives = [] }) => archives)
  return made.some((archive) => directoryOf(archive.path) === directoryOf(path))
}

async function pack(core: Core, request: Request, workspace: Workspace, operation: OperationRef) {
  const { tree, path } = intentOf(workspace, 'archive')
  const stage = stageOf(operation)
  await core.storage.create(stage, { mode: core.config.settings['workspaces.dir_mode'] })
  await core.storage.import(stage, { place: trashOf(tree) }, copyOptions(request, '.'))
  await withoutAgentBlocks(core, stage, workspace)
  using reached = await core.storage.reach(stage)
  return await core.archiveStore.pack(reached.path, path, {
    stage: operation.id,
    about: { ...workspaceArchiveHeader(core, workspace), tree, at: core.clock.now().toISOString() },
    exclude: [profileOf(workspace.profile).metadata],
    signal: request.signal,
    onProgress: (done) => request.onProgress?.({ phase: `packing ${nameOf(workspace)}`, ...done }),
  })
}

/** Nothing is left of it: the tree is where it was, and can be packed again. Safe to repeat. */
export async function undoArchive(core: Core, workspace: Workspace, operation: OperationRef): Promise<void> {
  await core.archiveStore.undo(intentOf(workspace, 'archive').path, operation.id)
  await core.storage.erase(stageOf(operation))
}

/** Names of workspaces are names of files, too. */
const archiveName = (core: Core, { task, agent }: Workspace): string =>
  `${task}.${agent}.${core.clock.now().toISOString().replaceAll(/[-:.]/g, '')}.aw.tar.zst`
