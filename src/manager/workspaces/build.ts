import { settleAll } from '../../domain/settle-all.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import { profileOf, type Profile } from '../../domain/workspace/profiles.ts'
import type { Imported, Workspace } from '../../domain/workspace/state.ts'
import type { Place } from '../../ports/storage-driver.ts'
import { injectAgentFiles, type UntouchedPaths } from './agent-blocks.ts'
import { ownBase } from '../sources/base-trees.ts'
import type { Core, OperationRef, Request } from '../core.ts'
import { readMetadata, writeMetadata } from '../kernel/metadata.ts'
import { checkpointSignal, withWorkspace } from '../kernel/operations.ts'
import { noBaseline } from '../recovery/orphans.ts'
import { dropOwnBase, withOwnBase } from '../sources/own-base.ts'
import { removePlaceholders } from '../sandboxes/placeholders.ts'
import { originOfTree, snapshotPlace, stageOf, trashOf } from '../kernel/places.ts'
import { applyKernelLimit } from '../space/size-limit.ts'
import { copyOptions, importedOf, isExternalSource } from '../sources/fill.ts'
import { type Content, type Made, makeContent, type Places } from '../sources/content.ts'
import { publish } from './publish.ts'
import { createFromTemplate } from '../templates/template-tree.ts'
import { openTree, type Tree } from '../kernel/trees.ts'
import type { UndoLog } from '../kernel/rollback.ts'

/**
 * Builds a workspace's tree from its source where nobody sees it: in `tmp`, or at `whole` if it begins as a base. Durable
 * when it resolves, but for what aw itself puts into it and can put there again.
 */
export async function buildTree(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  undo: UndoLog,
  { whole = stageOf(operation), access, noted }: BuildOptions = {},
): Promise<Built> {
  const stage = stageOf(operation)
  undo.add(() => core.storage.erase(stage))
  if (whole.area !== stage.area) undo.add(() => core.storage.erase(whole))
  const { source } = workspace
  if (source.kind === 'workspace') {
    await forkTree(core, request, workspace, stage, source.snapshot)
    await core.storage.sync(stage, { small: true })
    return { source, imported: null, place: stage, published: false }
  }
  const places = { whole, filled: stage }
  const content = isExternalSource(source)
    ? await makeContent(core, request, { ...workspace, source }, places, { access, noted })
    : await innerContent(core, request, workspace, places, noted)
  const { place, durable } = content
  // What begins as a base is whole by now, so the rest may come at the same time: all wait for one disk.
  const published = durable !== undefined && whole.area === 'volumes'
  const link = published ? publish(core, workspace, undo) : undefined
  const early = durable && (await settleAll(writeOwnFiles(core, workspace, place), durable, link))
  checkpointSignal(request)
  undo.add(() => dropOwnBase(core, request, ownBase(operation)))
  const started = await withOwnBase(core, request, workspace, operation, place, content)
  checkpointSignal(request)
  const { left, added } = early ?? (await writeOwnFiles(core, workspace, place))
  const isFrozen = 'base' in content.source && content.source.base !== null
  if (!isFrozen || added) await core.storage.sync(place, { small: (content.imported === null || isFrozen) && !added })
  await applyKernelLimit(core, workspace, place)
  checkpointSignal(request)
  return { ...withUntouchedPaths(started, left), place, published }
}

interface BuildOptions {
  readonly whole?: Place
  readonly access?: string | undefined
  /** That the intent is on the disk; before anything of the tree is. */
  readonly noted?: Promise<void>
}

type Built = Content & {
  readonly place: Place
  /** The link that leads users to it is there already. */
  readonly published: boolean
}

interface OwnFilesResult {
  readonly left: UntouchedPaths
  readonly added: boolean
}

/** What aw itself puts into a tree that has its content. */
async function writeOwnFiles(core: Core, workspace: Workspace, place: Place): Promise<OwnFilesResult> {
  const profile = profileOf(workspace.profile)
  const documents = await readMetadata(core, workspace)
  using tree = await openTree(core, place)
  const left = injectAgentFiles(tree, workspace, documents)
  // A tree from the trash comes back as its agent left it.
  const fresh = workspace.source.kind !== 'trash'
  const repository = fresh && (await initRepository(core, workspace, tree, profile))
  writeMetadata(tree, workspace, documents, { unseen: true })
  return { left, added: repository || documents.claude_md !== undefined || documents.agent_files !== undefined }
}

async function innerContent(
  core: Core,
  request: Request,
  { source, profile }: Workspace,
  { whole, filled: place }: Places,
  noted?: Promise<void>,
): Promise<Made> {
  await noted
  if (source.kind === 'orphan') throw noBaseline(source)
  if (source.kind === 'template') {
    await createFromTemplate(core, request, source, whole)
    return { source, imported: null, place: whole }
  }
  await core.storage.create(place, { mode: core.config.settings['workspaces.dir_mode'] })
  if (source.kind === 'trash')
    return { source, imported: await importTrashed(core, request, source.tree, place), place }
  using tree = await openTree(core, place)
  for (const directory of profileOf(profile).directories) tree.mkdir(directory, { parents: true })
  return { source, imported: null, place }
}

const withUntouchedPaths = ({ source, imported }: Content, left: UntouchedPaths): Content => ({
  source,
  imported: imported && { ...imported, ...(left.length > 0 && { untouched_paths: left }) },
})

/** A tree that begins as a snapshot. What aw writes into it can be written again, so it is not waited for. */
export async function forkTree(
  core: Core,
  request: Request,
  workspace: Workspace,
  place: Place,
  snapshot: SnapshotId,
  noted?: Promise<void>,
): Promise<void> {
  const { durable } = await core.storage.create(place, {
    from: snapshotPlace(snapshot),
    after: noted,
    later: true,
    signal: request.signal,
    onProgress: (done) => request.onProgress?.({ phase: 'copying', ...done }),
  })
  await settleAll(writeForkFiles(core, workspace, place, snapshot), durable)
}

async function writeForkFiles(core: Core, workspace: Workspace, place: Place, snapshot: SnapshotId): Promise<void> {
  await removePlaceholders(core, place, { workspace, place: snapshotPlace(snapshot) })
  await applyKernelLimit(core, workspace, place)
  const documents = await readMetadata(core, workspace)
  using tree = await openTree(core, place)
  writeMetadata(tree, workspace, documents, { unseen: true })
}

/** Under the lock of the workspace whose tree it was: it must not be erased or brought back while it is copied. */
async function importTrashed(core: Core, request: Request, tree: string, place: Place): Promise<Imported> {
  const origin = originOfTree(tree)
  const failed = (cause?: unknown): AwError =>
    new AwError('source_failed', `The tree ${tree} cannot be copied: it is in use, or no longer in the trash`, {
      data: { tree },
      cause,
    })
  try {
    return await withWorkspace(core, request, origin, async (workspace) => {
      if (!workspace.trash.some((entry) => entry.tree === tree)) throw failed()
      return importedOf(await core.storage.import(place, { place: trashOf(tree) }, copyOptions(request, '.')))
    })
  } catch (error) {
    // Busy is the origin, not the workspace that is being built: that one goes on to be undone.
    const { code } = toAwError(error)
    throw code === 'workspace_busy' || code === 'workspace_not_found' ? failed(error) : error
  }
}

/** Never in a repository that came with the source: its `.git` was written by others. */
export async function initRepository(core: Core, workspace: Workspace, tree: Tree, profile: Profile): Promise<boolean> {
  const { enabled, user_name: name, user_email: email } = workspace.config.git_config
  const repository = profile.content === '.' ? '.git' : `${profile.content}/.git`
  if (!enabled || tree.resolve(repository).exists) return false
  const { root } = tree
  await core.host.gitInit(profile.content === '.' ? root : `${root}/${profile.content}`, { name, email })
  return true
}
