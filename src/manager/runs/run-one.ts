import type { Inputs, Outputs } from '../../api/table.ts'
import { readWorkspaceConfig } from '../../domain/sources/creation.ts'
import { toAwError } from '../../domain/errors.ts'
import { isInsideDotGit } from '../../domain/git/patch.ts'
import type { SnapshotId, WorkspaceId } from '../../domain/ids.ts'
import { assertAccess, assertAccessConfigured } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { cancelRun } from './cancel.ts'
import { type Core, type Request, withoutLease } from '../core.ts'
import { changesSince, pathChanges } from '../diff/differences.ts'
import { lookUp } from '../kernel/find.ts'
import { checkpointSignal } from '../kernel/operations.ts'
import { snapshotPlace } from '../kernel/places.ts'
import { beginRun, type RunHandle } from './begin.ts'
import { assertRunPossible, discardAndExplain, sandboxRequestOf } from './check.ts'
import { commandFor, type PlannedCommand } from './command.ts'
import { failRequest, planRun, publishPrompt, requestRun, type RunRequest } from './request.ts'
import { followRun } from './logs.ts'
import { settle } from './settle.ts'
import { findRun, type RunView } from './queries.ts'
import { createForRun } from '../workspaces/create-for-run.ts'
import { defaultTemplate } from '../workspaces/create.ts'
import { hasHostPaths } from '../kernel/view.ts'

type Input = Inputs['run']
type Item = Outputs['run']
type Changes = NonNullable<Item['changes']> | null

/** One run: in a new workspace or one that is there. Whoever stops listening leaves it to itself; a signal cancels it. */
export async function* runOne(
  core: Core,
  input: Input,
  request: Request,
  { notes: more = [], isMade = false }: Forked = {},
): AsyncGenerator<Item> {
  checkpointSignal(request)
  const planned = await commandFor(core, input)
  const found = await workspaceFor(core, input)
  await assertRunnable(core, input, found)
  if (found === undefined) await assertRunPossible(core, input, planned)
  const asked = planRun(core, input, planned)
  const { id, notes } =
    found === undefined
      ? await createForRun(core, withFiles(input, planned.files), request, asked)
      : { id: (await requestRun(core, request, found.id, asked)).id, notes: [] }
  const isEmpty = found === undefined && !beginsAnew(input) && defaultTemplate(core, input) === undefined
  const nothing = isEmpty ? [emptyNote] : []
  const command = { ...planned, notes: [...planned.notes, ...nothing, ...notes, ...more] }
  // From here on it is a run of the workspace, whoever holds that.
  yield* runToEnd(core, input, withoutLease(request), id, asked, command, isMade || found === undefined)
}

/** Of one of several runs: its workspace was made for it just before. */
interface Forked {
  readonly notes?: readonly string[]
  readonly isMade?: boolean
}

/** Whoever does not say what it starts from may have thought that it is where they are. */
const emptyNote = 'The workspace began empty; --repo . or --from . gives it your files'

/** Texts that come with the workspace are written where this agent looks for them. */
const withFiles = (input: Input, files: readonly string[]): Input =>
  files.length === 0 || input.config === undefined
    ? input
    : { ...input, config: { agent_file_names: files, ...input.config } }

/** The workspace that is there and meant; undefined if one is to be made. */
export const workspaceFor = async (core: Core, input: Input): Promise<Workspace | undefined> =>
  input.id === undefined || beginsAnew(input) ? undefined : lookUp(core, input.id)

/** What must not be run is told before a workspace is made for it: one that is made from another may do what that may. */
export async function assertRunnable(core: Core, input: Input, found: Workspace | undefined): Promise<void> {
  const { id, config, from_workspace: from } = input
  const origin = found ?? (from === undefined ? undefined : await lookUp(core, from))
  if (origin !== undefined) return assertAccess(origin, 'execute')
  if (config === undefined) return
  assertAccessConfigured(readWorkspaceConfig(config, core.config.settings).config, 'execute', id ?? 'The workspace')
}

/** Who forks for a run is told by the run alone what the fork does not have. */
export const forkNotes = ({ source }: Pick<Workspace, 'source'>): string[] =>
  source.kind === 'workspace' && source.left_out !== undefined
    ? [`it began without what is in these btrfs subvolumes of ${source.name}: ${source.left_out.join(', ')}`]
    : []

/** Whether anything is said about what the workspace starts from. */
const beginsAnew = (input: Input): boolean =>
  (['from', 'repo', 'template', 'from_workspace', 'at', 'generate', 'profile', 'config', 'variables'] as const).some(
    (field) => input[field] !== undefined,
  )

async function* runToEnd(
  core: Core,
  input: Input,
  request: Request,
  id: WorkspaceId,
  asked: RunRequest,
  command: PlannedCommand,
  isMade: boolean,
): AsyncGenerator<Item> {
  await using started = await startRun(core, input, request, id, asked, command).catch(async (error: unknown) => {
    throw isMade ? await discardAndExplain(core, request, id, error) : error
  })
  const { workspace } = started
  const name = nameOf(workspace)
  const walls = workspace.sandbox?.walls
  const run = await findRun(core, workspace, asked.run)
  try {
    await unlessAborted(started.fed, request.signal)
    yield {
      type: 'started',
      workspace: name,
      ...placeOf(core, workspace),
      run,
      isolation: workspace.sandbox?.isolation ?? 'none',
      ...(walls !== undefined && { grades: walls.grades }),
      notes: [...command.notes, ...forkNotes(workspace), ...(walls?.notes ?? [])],
    }
    if (input.detach === true) return
    for await (const { stream, data, lost } of followRun(core, id, asked.run, { signal: request.signal }))
      yield stream === 'lost'
        ? { type: 'lost', workspace: name, lost: lost ?? 0 }
        : { type: stream, workspace: name, data }
  } catch (error) {
    if (request.signal?.aborted !== true) throw error
    await cancelRun(core, request, id, asked.run)
  }
  yield await endedItem(core, await settle(core, request, id), asked.run)
}

async function startRun(
  core: Core,
  input: Input,
  request: Request,
  id: WorkspaceId,
  asked: RunRequest,
  command: PlannedCommand,
): Promise<RunHandle> {
  try {
    await publishPrompt(core, request, id, asked)
  } catch (error) {
    await failRequest(core, request, id, asked.run, error)
    throw error
  }
  return beginRun(core, request, id, asked.run, sandboxRequestOf(input, command), command)
}

async function unlessAborted(done: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(signal?.reason)
  signal?.throwIfAborted()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    await Promise.race([done, aborted])
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

const placeOf = (core: Core, { path }: Workspace): Pick<Item, 'path'> => (hasHostPaths(core) ? { path } : {})

async function endedItem(core: Core, workspace: Workspace, run: RunRequest['run']): Promise<Item> {
  const view = await findRun(core, workspace, run)
  return {
    type: 'ended',
    workspace: nameOf(workspace),
    ...placeOf(core, workspace),
    run: view,
    changes: await changesOf(core, workspace, view),
  }
}

/** What it changed, as far as that was kept. What git keeps for itself is not counted: a commit alone changes nothing. */
async function changesOf(core: Core, workspace: Workspace, view: RunView): Promise<Changes> {
  const { before, snapshot, not_kept: notKept } = view
  if (before === null || notKept !== null) return null
  const counts = { added: 0, changed: 0, removed: 0 }
  if (snapshot === null) return counts
  try {
    const is = snapshotPlace(snapshot)
    for await (const change of changesSince(core, workspace, before as SnapshotId, is))
      for (const [path, kind] of pathChanges(change)) if (!isInsideDotGit(path)) counts[kind] += 1
    return counts
  } catch (error) {
    // One of them made room for another by now.
    if (toAwError(error).code === 'internal') throw error
    return null
  }
}
