import type { Inputs } from '../../api/table.ts'
import { settleAll } from '../../domain/settle-all.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import type { NewEvent } from '../../domain/log/event.ts'
import { formatName, generateSegment, parseName, type WorkspaceName } from '../../domain/names.ts'
import { readWorkspaceConfig } from '../../domain/sources/creation.ts'
import { textRef } from '../../domain/text/ref.ts'
import { profileOf } from '../../domain/workspace/profiles.ts'
import type { Source, Workspace } from '../../domain/workspace/state.ts'
import { newEvent, newId, type Core, type OperationRef, type Request } from '../core.ts'
import { operandOf } from '../diff/operands.ts'
import { lookUp } from '../kernel/find.ts'
import {
  append,
  begin,
  checkpointSignal,
  intentFlushed,
  isFenced,
  lockWorkspace,
  nameFields,
  retireIfPurged,
} from '../kernel/operations.ts'
import { pathOf, volumeOf } from '../kernel/places.ts'
import { undoLog, type UndoLog } from '../kernel/rollback.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'
import { takeOrphan } from '../recovery/orphans.ts'
import { assertNameFree, forkPoint, forkSettings, whilePresent } from '../snapshots/fork-point.ts'
import { discardState } from '../snapshots/current-state.ts'
import { ownBase } from '../sources/base-trees.ts'
import type { Content } from '../sources/content.ts'
import { dropOwnBase, withOwnBase } from '../sources/own-base.ts'
import { resolveStart, type StartPoint } from '../sources/resolve.ts'
import { measureImported } from '../space/size-limit.ts'
import { destroy } from '../trash/destroy.ts'
import { plannedBlocks } from './agent-blocks.ts'
import { buildTree, forkTree } from './build.ts'
import { createEmptyFailed, isSourceUnavailable, isWaiting } from './failed-source.ts'
import { checkedLabels } from './label.ts'
import { publish } from './publish.ts'
import { expiryOf } from './ttl.ts'

interface CreateOptions {
  /** The url of a repository with what is needed to get in. */
  readonly access?: string | undefined
  /** What is in the log together with the intent. */
  readonly also?: ((name: WorkspaceName) => readonly NewEvent[]) | undefined
}

/** Resolves the source of a new workspace, then makes it. */
export async function create(
  core: Core,
  input: Inputs['create'],
  request: Request,
  also?: CreateOptions['also'],
): Promise<WorkspaceView> {
  const usual = defaultTemplate(core, input)
  const start = await (usual === undefined ? resolveStart(core, input) : startFromTemplate(core, input, usual))
  if ('fork' in start) return createFork(core, input, start, request)
  const { source, access, profile = input.profile } = start
  if (input.profile !== undefined && input.profile !== profile)
    throw new AwError('invalid_input', `It has the layout ${profile} already`, {
      hint:
        usual === undefined ? 'Leave profile out' : 'Leave profile out, or begin without the template: --from empty',
      data: { field: 'profile' },
    })
  const settings = { ...input, profile }
  try {
    return view(core, await createFrom(core, settings, source, request, { access, also }))
  } catch (error) {
    const holder = await waitingHolder(core, input, error)
    if (holder === undefined) throw error
    await destroy(core, { id: holder.id }, request)
    return view(core, await createFrom(core, settings, source, request, { access, also }))
  }
}

/** Makes a workspace from a source that is known: intent, tree, link, outcome. What was made is undone if a step fails. */
export async function createFrom(
  core: Core,
  input: Inputs['create'],
  source: Source,
  request: Request,
  { access, also }: CreateOptions = {},
): Promise<Workspace> {
  const name = nameFor(core, input)
  const { settings } = core.config
  const profile = profileOf(input.profile ?? settings['workspaces.profile'])
  const { config, documents } = readWorkspaceConfig(input.config ?? {}, settings)
  await assertSpace(core)

  const id: WorkspaceId = newId(core, 'ws')
  using lock = await lockWorkspace(core, request, id)
  const undo = undoLog()
  let started: { workspace: Workspace; operation: OperationRef } | undefined
  try {
    // The intent: from here on the name is taken, and a crash can be understood.
    const hasTexts = Object.values(documents).some((value) => value !== undefined)
    const text = hasTexts ? JSON.stringify(documents) : undefined
    const intent = {
      ...nameFields(name),
      workspace_path: pathOf(core, name),
      profile: profile.name,
      source,
      config: { ...config, ...(text !== undefined && { documents: textRef(text) }) },
      labels: checkedLabels(input.labels ?? {}),
      ...(input.ttl !== undefined && { expires_at: expiryOf(core, input.ttl) }),
      driver: core.storage.name,
      ...(await plannedBlocks(core, { ...name, path: pathOf(core, name), source }, documents)),
    }
    const intend = () =>
      begin(core, request, { id, version: 0 }, 'workspace_create_started', 'create', intent, {
        also: also?.(name),
        later: true,
      })
    started = await (source.kind === 'workspace' ? whilePresent(core, request, source, intend) : intend())
    const { workspace, operation } = started
    if (text !== undefined) {
      undo.add(() => core.texts.remove(id))
      await core.texts.put(id, text)
    }

    // The tree, and the link that leads users to it.
    const noted = intentFlushed(core)
    let content: Content
    if (source.kind === 'workspace') content = await forkVolume(core, request, workspace, source, undo, noted)
    else if (source.kind === 'orphan')
      content = await adoptOrphan(core, request, { ...workspace, source }, operation, undo, noted)
    else {
      const volume = volumeOf(workspace)
      const tree = await buildTree(core, request, workspace, operation, undo, { whole: volume, access, noted })
      if (tree.place.area === 'tmp') {
        undo.add(() => core.storage.erase(volume))
        await core.storage.move(tree.place, volume)
      }
      if (!tree.published) await publish(core, workspace, undo)
      content = tree
    }

    // The outcome: only now is the undo forgotten.
    const created = await append(core, request, workspace, [createdEvent(core, request, workspace, operation, content)])
    undo.keep()
    return created
  } catch (error) {
    // Another process has taken the operation over, and the tree with it.
    if (started !== undefined && isFenced(error)) throw error
    const failures = await undo.run()
    if (started !== undefined && failures.length === 0 && isSourceUnavailable(started.workspace, error))
      throw await createEmptyFailed(core, request, started.workspace, started.operation, error)
    // If undoing failed, or cannot be told, the operation stays for recovery to end.
    if (started !== undefined && failures.length === 0)
      await closeFailed(core, request, started.workspace, started.operation).catch(() => undefined)
    await retireIfPurged(core, lock, id)
    throw error
  }
}

/** A tree from a snapshot comes whole or not at all, so its link may come at the same time: both wait for one disk. */
async function forkVolume(
  core: Core,
  request: Request,
  workspace: Workspace,
  source: Extract<Source, { kind: 'workspace' }>,
  undo: UndoLog,
  noted: Promise<void>,
): Promise<Content> {
  const volume = volumeOf(workspace)
  undo.add(() => core.storage.erase(volume))
  await settleAll(
    forkTree(core, request, workspace, volume, source.snapshot, noted),
    noted.then(() => publish(core, workspace, undo)),
  )
  return { source, imported: null }
}

async function adoptOrphan(
  core: Core,
  request: Request,
  workspace: Workspace & { readonly source: Extract<Source, { kind: 'orphan' }> },
  operation: OperationRef,
  undo: UndoLog,
  noted: Promise<void>,
): Promise<Content> {
  await noted
  await takeOrphan(core, request, workspace, undo)
  undo.add(() => dropOwnBase(core, request, ownBase(operation)))
  const content = { source: workspace.source, imported: await measureImported(core, workspace) }
  const started = await withOwnBase(core, request, workspace, operation, volumeOf(workspace), content)
  await publish(core, workspace, undo)
  return started
}

export function createdEvent(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  { imported, source }: Content,
) {
  const { path, config, created_at } = workspace
  const data = { ...nameFields(workspace), workspace_path: path, config, created_at, imported, source }
  return newEvent(core, request, 'workspace_created', data, operation)
}

/** Nothing of it is left: the name is free again. */
export async function closeFailed(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const { path: workspace_path } = workspace
  const data = { ...nameFields(workspace), workspace_path, cleanup_reason: 'failed_create' as const, tree: null }
  return append(core, request, workspace, [newEvent(core, request, 'workspace_cleanup', data, operation)])
}

/** A fork has the layout and the configuration of what it is forked from. */
async function createFork(
  core: Core,
  input: Inputs['create'],
  { fork, at }: Extract<StartPoint, { fork: string }>,
  request: Request,
): Promise<WorkspaceView> {
  const given = (['profile', 'config'] as const).find((field) => input[field] !== undefined)
  if (given !== undefined)
    throw new AwError('invalid_input', `A fork has the ${given} of the workspace that it is forked from`, {
      hint: `Leave ${given} out`,
      data: { field: given },
    })
  const { workspace, snapshot } = await operandOf(core, fork)
  const name = formatName(nameFor(core, input))
  await assertNameFree(core, name)
  const point = await forkPoint(core, { id: workspace.id, at: at ?? snapshot ?? undefined }, request)
  try {
    checkpointSignal(request)
    const settings = { ...(await forkSettings(core, point.origin, input)), id: name }
    const made = view(core, await createFrom(core, settings, point.source, request))
    request.onProgress?.({ phase: 'forking', files: 1 })
    return made
  } catch (error) {
    if (point.isNew) await discardState(core, request, workspace.id, point.source.snapshot)
    throw error
  }
}

/** What a workspace begins as if nobody says; undefined: somebody does, or there is no such template. */
export function defaultTemplate({ config: { settings } }: Core, input: Inputs['create']): string | undefined {
  const isSaid = (['from', 'repo', 'from_workspace', 'template'] as const).some((field) => input[field] !== undefined)
  return isSaid || settings['workspaces.template'] === '' ? undefined : settings['workspaces.template']
}

/** Whoever has not asked for the template is told who has. */
async function startFromTemplate(core: Core, input: Inputs['create'], template: string): Promise<StartPoint> {
  try {
    return await resolveStart(core, { ...input, template })
  } catch (error) {
    const { code, message, hint, data } = toAwError(error)
    const by = `The setting workspaces.template is ${template}; to begin without it: --from empty`
    throw new AwError(code, message, { hint: hint === undefined ? by : `${hint}. ${by}`, data, cause: error })
  }
}

/**
 * A workspace whose source could not be had holds its name and nothing else: whoever asks for the name again means this
 * try, and not that one, which goes to the trash.
 */
async function waitingHolder(core: Core, { id }: Inputs['create'], error: unknown): Promise<Workspace | undefined> {
  const { code, data } = toAwError(error)
  const holder = code === 'workspace_exists' && id !== undefined ? await lookUp(core, String(data['id'])) : undefined
  return holder !== undefined && isWaiting(holder) ? holder : undefined
}

function nameFor(core: Core, input: Inputs['create']): WorkspaceName {
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
