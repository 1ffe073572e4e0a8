import type { Inputs } from '../../api/table.ts'
import { allDone } from '../../domain/all-done.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { NewEvent } from '../../domain/log/event.ts'
import { isWorkspaceId, type WorkspaceId } from '../../domain/ids.ts'
import type { WorkspaceName } from '../../domain/names.ts'
import { nameOf, type Source } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { createFrom, nameFor } from './provision.ts'
import { isWaiting } from './failed-source.ts'
import { destroy } from '../trash/destroy.ts'
import { lookUp } from '../kernel/find.ts'
import { fork } from '../snapshots/fork.ts'
import { failRequest, firstRun, requestRun, type RunRequest } from '../runs/request.ts'
import { withoutWorkspace } from '../runs/check.ts'
import { sideOf } from '../diff/operands.ts'
import { type Start, startOf } from '../sources/resolve.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

export const create = (core: Core, input: Inputs['create'], request: Request): Promise<WorkspaceView> =>
  createWith(core, input, request)

/** A workspace with a run that waits for it, in the log from the beginning. A fork is there at once. */
export async function createForRun(
  core: Core,
  input: Inputs['run'],
  request: Request,
  asked: RunRequest,
): Promise<{ id: WorkspaceId; notes: readonly string[] }> {
  try {
    const also = (name: WorkspaceName): NewEvent[] => [firstRun(core, request, name, asked)]
    const { id, notes } = await createNoting(core, input, request, also)
    if ((await core.store.get(id))?.run === undefined)
      await requestRun(core, request, id, asked).catch(async (error: unknown) => {
        throw await withoutWorkspace(core, request, id, error)
      })
    return { id, notes }
  } catch (error) {
    // The workspace is kept, empty: its run has failed.
    const { id } = toAwError(error).data
    if (typeof id === 'string' && isWorkspaceId(id)) await failRequest(core, request, id, asked.run, error)
    throw error
  }
}

async function createWith(
  core: Core,
  input: Inputs['create'],
  request: Request,
  also?: (name: WorkspaceName) => readonly NewEvent[],
): Promise<WorkspaceView> {
  const usual = usualTemplate(core, input)
  const start = await (usual === undefined ? startOf(core, input) : startAs(core, input, usual))
  if (!('source' in start)) return forked(core, input, start, request)
  const { source, access, profile = input.profile } = start
  if (input.profile !== undefined && input.profile !== profile)
    throw new AwError('invalid_input', `It has the layout ${profile} already`, {
      hint:
        usual === undefined ? 'Leave profile out' : 'Leave profile out, or begin without the template: --from empty',
      data: { field: 'profile' },
    })
  return view(
    core,
    await replacing(core, input, request, () =>
      createFrom(core, { ...input, profile }, source, request, { access, also }),
    ),
  )
}

/** What a workspace begins as if nobody says; undefined: somebody does, or there is no such template. */
export function usualTemplate({ config: { settings } }: Core, input: Inputs['create']): string | undefined {
  const isSaid = (['from', 'repo', 'from_workspace', 'template'] as const).some((field) => input[field] !== undefined)
  return isSaid || settings['workspaces.template'] === '' ? undefined : settings['workspaces.template']
}

/** Whoever has not asked for the template is told who has. */
async function startAs(core: Core, input: Inputs['create'], template: string): Promise<Start> {
  try {
    return await startOf(core, { ...input, template })
  } catch (error) {
    const { code, message, hint, data } = toAwError(error)
    const by = `The setting workspaces.template is ${template}; to begin without it: --from empty`
    throw new AwError(code, message, { hint: hint === undefined ? by : `${hint}. ${by}`, data, cause: error })
  }
}

/**
 * With what its owner should know before anything runs in it. That takes git longer than a create does, so they go side
 * by side.
 */
export async function createNoting(
  core: Core,
  input: Inputs['create'],
  request: Request,
  also?: (name: WorkspaceName) => readonly NewEvent[],
): Promise<{ id: WorkspaceId; source: Source; notes: readonly string[] }> {
  const noting = uncommittedNotes(core, input, request)
  const { id, source } = await allDone(createWith(core, input, request, also), noting)
  return { id: id as WorkspaceId, source: source as Source, notes: await noting }
}

/** Who does not say which commit may think that a repository comes as it is now. */
async function uncommittedNotes(
  core: Core,
  { repo, ref }: Inputs['create'],
  { signal }: Request,
): Promise<readonly string[]> {
  if (repo === undefined || ref !== undefined) return []
  // What is wrong with the repository is told by what is made of it.
  const left = await core.repositories.uncommitted(repo, signal).catch(() => undefined)
  if (!left) return []
  const what = left === 1 ? '1 path is' : `${left} paths are`
  return [
    `${what} not committed in ${repo}, and not in the workspace: commit first, or take the folder as it is with --from`,
  ]
}

/**
 * A workspace whose source could not be had holds its name and nothing else: whoever asks for the name again means this
 * try, and not that one, which goes to the trash.
 */
async function replacing<T>(
  core: Core,
  { id }: Inputs['create'],
  request: Request,
  make: () => Promise<T>,
): Promise<T> {
  try {
    return await make()
  } catch (error) {
    const { code, data } = toAwError(error)
    const holder = code === 'workspace_exists' && id !== undefined ? await lookUp(core, String(data['id'])) : undefined
    if (holder === undefined || !isWaiting(holder)) throw error
    await destroy(core, { id: holder.id }, request)
    return make()
  }
}

/** A fork has the layout and the configuration of what it is forked from. */
async function forked(
  core: Core,
  input: Inputs['create'],
  { fork: from, at }: Extract<Start, { fork: string }>,
  request: Request,
): Promise<WorkspaceView> {
  const given = (['profile', 'config'] as const).find((field) => input[field] !== undefined)
  if (given !== undefined)
    throw new AwError('invalid_input', `A fork has the ${given} of the workspace that it is forked from`, {
      hint: `Leave ${given} out`,
      data: { field: given },
    })
  const { workspace, snapshot } = await sideOf(core, from)
  const { forks } = await fork(
    core,
    {
      id: workspace.id,
      to: [nameOf(nameFor(core, input))],
      at: at ?? snapshot ?? undefined,
      labels: input.labels,
      ttl: input.ttl,
    },
    // It is told when it is there, as every workspace is.
    {
      ...request,
      correlationId: request.correlationId,
      onProgress: ({ made: _, ...news }) => request.onProgress?.(news),
    },
  )
  const [made] = forks
  if (made?.workspace) return made.workspace
  throw new AwError('internal', 'The fork was not made')
}
