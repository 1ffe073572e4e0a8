import { agentFileNames, compose, inject } from '../domain/agent-files.ts'
import type { Documents } from '../domain/creation.ts'
import { AwError, toAwError, type ErrorCode } from '../domain/errors.ts'
import type { SnapshotId, WorkspaceId } from '../domain/ids.ts'
import { profileOf, type Profile } from '../domain/profiles.ts'
import { nameOf, type Imported, type Workspace } from '../domain/workspace/state.ts'
import type { FileHandle } from '../ports/files.ts'
import type { ImportOptions, ImportReport, Place } from '../ports/storage-driver.ts'
import type { Core, OperationRef, Request } from './core.ts'
import { readDocuments, writeMetadata } from './metadata.ts'
import { checkpointSignal, withWorkspace } from './operations.ts'
import { snapshotPlace, stageOf, trashOf } from './places.ts'
import { openTree } from './trees.ts'
import type { UndoLog } from './undo.ts'

/** Builds a workspace's tree in `tmp`, where nobody sees it, from its source. Durable when it resolves. */
export async function buildTree(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  undo: UndoLog,
): Promise<Imported | null> {
  const { settings } = core.config
  const profile = profileOf(workspace.profile)
  const place = stageOf(operation)
  const documents = await readDocuments(core, workspace)

  undo.add(() => core.storage.erase(place))
  if (workspace.source.kind === 'workspace') {
    await forkTree(core, request, workspace, place, workspace.source.snapshot)
    await core.storage.sync(place, { small: true })
    return null
  }
  await core.storage.create(place, { mode: settings['workspaces.dir_mode'] })
  checkpointSignal(request)

  using tree = await openTree(core, place)
  // A tree from the trash comes back as its agent left it, which may have put something else in their place.
  const fresh = workspace.source.kind !== 'trash'
  if (fresh) for (const directory of profile.directories) tree.mkdir(directory, { parents: true })
  const copied = await importSource(core, request, workspace, place, profile)
  checkpointSignal(request)

  const left = injectAgentFiles(tree, workspace, documents)
  const imported = copied && { ...copied, skipped: [...left, ...copied.skipped] }
  const repository = fresh && (await initRepository(core, request, workspace, place, tree, profile))
  writeMetadata(tree, workspace, documents, { durable: false })
  await core.storage.sync(place, { small: imported === null && !repository })
  checkpointSignal(request)
  if (imported === null) return null
  return { ...imported, skipped: imported.skipped.length, skipped_paths: imported.skipped.slice(0, 20) }
}

/** A tree that begins as a snapshot. What aw writes into it can be written again, so it is not waited for. */
export async function forkTree(
  core: Core,
  request: Request,
  workspace: Workspace,
  place: Place,
  snapshot: SnapshotId,
): Promise<void> {
  await core.storage.create(place, {
    from: snapshotPlace(snapshot),
    signal: request.signal,
    onProgress: (done) => request.onProgress?.({ phase: 'copying', ...done }),
  })
  const documents = await readDocuments(core, workspace)
  using tree = await openTree(core, place)
  writeMetadata(tree, workspace, documents, { durable: false, fresh: true })
}

/** As the storage tells it, and what aw itself left alone. */
type Copied = Omit<Imported, 'skipped' | 'skipped_paths'> & { readonly skipped: Imported['skipped_paths'] }

async function importSource(
  core: Core,
  request: Request,
  { source }: Workspace,
  place: Place,
  profile: Profile,
): Promise<Copied | null> {
  if (source.kind !== 'folder' && source.kind !== 'trash') return null
  const onProgress = (done: { files: number; bytes: number }): void =>
    request.onProgress?.({ phase: 'copying', files: done.files, bytes: done.bytes })
  const options = { signal: request.signal, onProgress }
  // A tree from the trash is a whole workspace; a folder is what the work starts from.
  return source.kind === 'trash'
    ? importTrashed(core, request, source.tree, place, { ...options, into: '.' })
    : core.storage.import(place, { folder: source.path }, { ...options, into: profile.content })
}

/** Under the lock of the workspace whose tree it was: it must not be erased or brought back while it is copied. */
async function importTrashed(
  core: Core,
  request: Request,
  tree: string,
  place: Place,
  options: ImportOptions,
): Promise<ImportReport> {
  const origin = tree.slice(0, tree.lastIndexOf('.')) as WorkspaceId
  const failed = (cause?: unknown): AwError =>
    new AwError('source_failed', `The tree ${tree} cannot be copied: it is in use, or no longer in the trash`, {
      data: { tree },
      cause,
    })
  try {
    return await withWorkspace(core, request, origin, async (workspace) => {
      if (!workspace.trash.some((entry) => entry.tree === tree)) throw failed()
      return core.storage.import(place, { place: trashOf(tree) }, options)
    })
  } catch (error) {
    // Busy is the origin, not the workspace that is being built: that one goes on to be undone.
    const { code } = toAwError(error)
    throw code === 'workspace_busy' || code === 'workspace_not_found' ? failed(error) : error
  }
}

/** Answers those that came with the source and cannot be added to: they are not ours to replace. */
function injectAgentFiles(tree: FileHandle, workspace: Workspace, documents: Documents): Copied['skipped'] {
  const variables = {
    task: workspace.task,
    agent: workspace.agent,
    workspace: nameOf(workspace),
    workspace_path: workspace.path,
  }
  const composed = documents.agent_files === undefined ? '' : compose(documents.agent_files, variables)
  const text = [documents.claude_md ?? '', composed].filter((part) => part !== '').join('\n\n')
  if (text === '') return []
  return agentFileNames.flatMap((path) => {
    try {
      const existing = tree.resolve(path).exists ? tree.read(path) : Buffer.alloc(0)
      tree.write(path, inject(existing, text))
      return []
    } catch (error) {
      const { code } = toAwError(error)
      if (!foreign.has(code)) throw error
      return [{ path, reason: code }]
    }
  })
}

/** What a link, a directory or something huge in the place of a file gives. */
const foreign: ReadonlySet<ErrorCode> = new Set([
  'symlink_outside_workspace',
  'cannot_resolve_symlinks',
  'path_traversal_attempt',
  'path_outside_workspace',
  'not_a_file',
  'not_a_directory',
  'file_too_large',
])

/** Never in a repository that came with the source: its `.git` was written by others. */
async function initRepository(
  core: Core,
  request: Request,
  workspace: Workspace,
  place: Place,
  tree: FileHandle,
  profile: Profile,
): Promise<boolean> {
  const { enabled, user_name: name, user_email: email } = workspace.config.git_config
  const repository = profile.content === '.' ? '.git' : `${profile.content}/.git`
  if (!enabled || tree.resolve(repository).exists) return false
  const root = core.storage.attachment(place).path
  await core.host.gitInit(
    profile.content === '.' ? root : `${root}/${profile.content}`,
    { name, email },
    request.signal,
  )
  return true
}
