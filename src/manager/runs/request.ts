import type { Inputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { NewEvent } from '../../domain/log/event.ts'
import type { RunId, WorkspaceId } from '../../domain/ids.ts'
import { labelFrom } from '../../domain/workspace/snapshot-names.ts'
import { textRef } from '../../domain/text/ref.ts'
import { assertAccess, assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { RunPlan } from '../../domain/workspace/runs.ts'
import { newEvent, newId, uncancellable, type Core, type Request } from '../core.ts'
import { cutArguments } from '../sandboxes/commands.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { refreshMetadata } from '../kernel/metadata.ts'
import type { PlannedCommand } from './command.ts'
import { endRun, settleRun } from './settle.ts'

/** What is asked for, before anybody knows in which workspace. */
export interface RunRequest {
  readonly run: RunId
  readonly plan: Omit<RunPlan, 'number' | 'label'>
  /** Undefined: it is called by its number, which its workspace gives it. */
  readonly label: string | undefined
  readonly prompt: string | undefined
}

export function planRun(core: Core, input: Inputs['run'], { agent, argv }: PlannedCommand): RunRequest {
  const { settings } = core.config
  const { prompt, record_prompt: recordPrompt = settings['runs.record_prompt'] } = input
  const run = newId(core, 'run')
  const isLabel = recordPrompt && settings['runs.label_from_prompt']
  const label = prompt !== undefined && isLabel ? (labelFrom(prompt) ?? undefined) : undefined
  const plan = {
    run,
    agent,
    ...(agent === null ? cutArguments(argv) : { argv: [], argv_cut: false }),
    prompt: prompt === undefined ? null : textRef(prompt),
    snapshot: input.snapshot ?? settings['runs.snapshot'],
  }
  return { run, plan, label, prompt: recordPrompt ? prompt : undefined }
}

const numbered = ({ plan, label }: RunRequest, number: number): RunPlan => ({
  ...plan,
  number,
  label: label ?? `run ${number}`,
})

/** Of a workspace that is about to be made: in the log together with that. */
export const firstRun = (
  core: Core,
  request: Request,
  whom: { task: string; agent: string },
  asked: RunRequest,
): NewEvent =>
  newEvent(core, request, 'run_requested', { ...nameFields(whom), ...numbered(asked, 1), owner: core.host.owner() })

/** Of a workspace that is there; one run at a time. */
export async function requestRun(core: Core, request: Request, id: WorkspaceId, asked: RunRequest): Promise<Workspace> {
  return withWorkspace(core, request, id, async (found) => {
    assertAllowed(found, 'exec')
    assertAccess(found, 'execute')
    const workspace = await settleRun(core, request, found)
    if (workspace.run !== undefined) throw isActive(workspace)
    const plan = numbered(asked, (workspace.runs ?? 0) + 1)
    const data = { ...nameFields(workspace), ...plan, owner: core.host.owner() }
    return append(core, request, workspace, [newEvent(core, request, 'run_requested', data)])
  })
}

/** The prompt is kept beside the log, and those inside find it in run.json. Needs no lock: the run is ours. */
export async function publishPrompt(
  core: Core,
  request: Request,
  id: WorkspaceId,
  { run, prompt }: RunRequest,
): Promise<void> {
  if (prompt !== undefined) await core.texts.put(run, prompt)
  await withWorkspace(core, request, id, async (workspace) => void (await refreshMetadata(core, workspace)))
}

/** It never began. Says so in the log, unless somebody else has by now; the workspace may be gone altogether. */
export async function failRequest(
  core: Core,
  request: Request,
  id: WorkspaceId,
  run: RunId,
  error: unknown,
): Promise<void> {
  const { code, message } = toAwError(error)
  const still = uncancellable(request)
  if ((await core.store.get(id))?.run?.run !== run) return
  await withWorkspace(core, still, id, async (workspace) => {
    if (workspace.run?.run === run) await endRun(core, still, workspace, { exit: null, problem: { code, message } })
  })
}

const isActive = (workspace: Workspace): AwError =>
  new AwError('workspace_active', `${nameOf(workspace)} has a run already: run ${workspace.run?.number}`, {
    hint: `Follow it: aw logs ${nameOf(workspace)} --follow; or end it: aw cancel ${nameOf(workspace)}`,
    data: { id: workspace.id, run: workspace.run?.run },
  })
