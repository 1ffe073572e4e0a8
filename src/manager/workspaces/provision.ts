import type { Inputs } from '../../api/table.ts'
import { allDone } from '../../domain/all-done.ts'
import { readWorkspaceConfig } from '../../domain/sources/creation.ts'
import { AwError } from '../../domain/errors.ts'
import type { NewEvent } from '../../domain/log/event.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import { generateSegment, parseName, type WorkspaceName } from '../../domain/names.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import { textRef } from '../../domain/text/ref.ts'
import type { Source, Workspace } from '../../domain/workspace/state.ts'
import { plannedBlocks } from './agent-blocks.ts'
import { buildTree, forkTree } from './build.ts'
import { ownBase } from '../sources/base-trees.ts'
import { isLostSource, keepEmpty } from './failed-source.ts'
import type { Content } from '../sources/content.ts'
import { newEvent, newId, type Core, type OperationRef, type Request } from '../core.ts'
import { checkedLabels } from './label.ts'
import { append, begin, intended, isFenced, lockWorkspace, retireIfOver, whose } from '../kernel/operations.ts'
import { takeOrphan } from '../recovery/orphans.ts'
import { dropOwnBase, withBeginning } from '../sources/own-base.ts'
import { pathOf, volumeOf } from '../kernel/places.ts'
import { broughtIn } from '../space/size-limit.ts'
import { expiryOf } from './ttl.ts'
import { undoLog, type UndoLog } from '../kernel/rollback.ts'

interface CreateOptions {
  /** The url of a repository with what is needed to get in. */
  readonly access?: string | undefined
  /** What is in the log together with the intent. */
  readonly also?: ((name: WorkspaceName) => readonly NewEvent[]) | undefined
  /** Writes the intent while what it needs is there. */
  readonly pinned?: (<T>(begin: () => Promise<T>) => Promise<T>) | undefined
}

export async function createFrom(
  core: Core,
  input: Inputs['create'],
  source: Source,
  request: Request,
  { access, also, pinned = (begin) => begin() }: CreateOptions = {},
): Promise<Workspace> {
  const name = nameFor(core, input)
  const { settings } = core.config
  const profile = profileOf(input.profile ?? settings['workspaces.profile'])
  const { config, documents } = readWorkspaceConfig(input.config ?? {}, settings)
  await assertSpace(core)

  const id: WorkspaceId = newId(core, 'ws')
  using lock = await lockWorkspace(core, request, id)
  const undo = undoLog()
  let begun: { workspace: Workspace; operation: OperationRef } | undefined
  try {
    const hasTexts = Object.values(documents).some((value) => value !== undefined)
    const text = hasTexts ? JSON.stringify(documents) : undefined
    const intent = {
      ...whose(name),
      workspace_path: pathOf(core, name),
      profile: profile.name,
      source,
      config: { ...config, ...(text !== undefined && { documents: textRef(text) }) },
      labels: checkedLabels(input.labels ?? {}),
      ...(input.ttl !== undefined && { expires_at: expiryOf(core, input.ttl) }),
      driver: core.storage.name,
      ...(await plannedBlocks(core, { ...name, path: pathOf(core, name), source }, documents)),
    }
    begun = await pinned(() =>
      begin(core, request, { id, version: 0 }, 'workspace_create_started', 'create', intent, {
        also: also?.(name),
        later: true,
      }),
    )
    if (text !== undefined) {
      undo.add(() => core.texts.remove(id))
      await core.texts.put(id, text)
    }
    return await provision(core, request, begun.workspace, begun.operation, undo, access)
  } catch (error) {
    // Another process has taken the operation over, and the tree with it.
    if (begun !== undefined && isFenced(error)) throw error
    const failures = await undo.run()
    if (begun !== undefined && failures.length === 0 && isLostSource(begun.workspace, error))
      throw await keepEmpty(core, request, begun.workspace, begun.operation, error)
    // If undoing failed, or cannot be told, the operation stays for recovery to end.
    if (begun !== undefined && failures.length === 0)
      await closeFailed(core, request, begun.workspace, begun.operation).catch(() => undefined)
    await retireIfOver(core, lock, id)
    throw error
  }
}

async function provision(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  undo: UndoLog,
  access?: string,
): Promise<Workspace> {
  const volume = volumeOf(workspace)
  const target = core.storage.attachment(volume).path
  let published: Promise<void> | undefined
  const publish = (): Promise<void> => {
    if (published === undefined) undo.add(() => core.host.unpublish(workspace.path, target, core.basePath))
    return (published ??= core.host.publish(workspace.path, target))
  }
  const content = await makeVolume(core, request, workspace, operation, undo, publish, access)
  const created = await append(core, request, workspace, [createdEvent(core, request, workspace, operation, content)])
  undo.keep()
  return created
}

async function makeVolume(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  undo: UndoLog,
  publish: () => Promise<void>,
  access?: string,
): Promise<Content> {
  const { source } = workspace
  const volume = volumeOf(workspace)
  const noted = intended(core)
  // A tree from a snapshot comes whole or not at all, so its link may come at the same time: both wait for one disk.
  if (source.kind === 'workspace') {
    undo.add(() => core.storage.erase(volume))
    await allDone(forkTree(core, request, workspace, volume, source.snapshot, noted), noted.then(publish))
    return { source, imported: null }
  }
  if (source.kind === 'orphan') {
    await noted
    await takeOrphan(core, request, { ...workspace, source }, undo)
    undo.add(() => dropOwnBase(core, request, ownBase(operation)))
    const content = { source, imported: await broughtIn(core, workspace) }
    const begun = await withBeginning(core, request, workspace, operation, volume, content)
    await publish()
    return begun
  }
  const content = await buildTree(core, request, workspace, operation, undo, { whole: volume, access, noted, publish })
  if (content.place.area === 'tmp') {
    undo.add(() => core.storage.erase(volume))
    await core.storage.move(content.place, volume)
  }
  await publish()
  return content
}

export function createdEvent(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  { imported, source }: Content,
) {
  const { path, config, created_at } = workspace
  return newEvent(
    core,
    request,
    'workspace_created',
    { ...whose(workspace), workspace_path: path, config, created_at, imported, source },
    operation,
  )
}

/** Nothing of it is left: the name is free again. */
export async function closeFailed(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const cleanup = newEvent(
    core,
    request,
    'workspace_cleanup',
    { ...whose(workspace), workspace_path: workspace.path, cleanup_reason: 'failed_create', tree: null },
    operation,
  )
  return append(core, request, workspace, [cleanup])
}

export function nameFor(core: Core, input: Inputs['create']): WorkspaceName {
  if (input.id !== undefined && input.generate !== undefined) {
    throw new AwError('invalid_input', 'Both a name and a text to make one from were given', {
      hint: 'Give id or generate, not both',
      data: { field: 'generate' },
    })
  }
  if (input.id !== undefined) return parseName(input.id)
  return { task: generateSegment(input.generate ?? 'workspace', core.clock.random(6)), agent: 'main' }
}

async function assertSpace(core: Core): Promise<void> {
  const { bytes } = await core.storage.free()
  const wanted = core.config.settings['space.min_free_mb'] * 1024 * 1024
  if (bytes >= wanted) return
  throw new AwError('disk_full', `Only ${Math.floor(bytes / 1024 / 1024)} MiB are free where workspaces are kept`, {
    hint: 'Make room with aw gc, or lower space.min_free_mb',
    data: { free_bytes: bytes, wanted_bytes: wanted },
  })
}
