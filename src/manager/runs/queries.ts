import type { Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { AnyEvent } from '../../domain/log/event.ts'
import type { RunId } from '../../domain/ids.ts'
import { labelFrom } from '../../domain/workspace/snapshot-names.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { runEndOf, stateOf } from './end.ts'

export type RunView = Outputs['runs'][number]

/** The run that is under way, or the last one. */
export async function lastRun(core: Core, workspace: Workspace): Promise<RunView | undefined> {
  const run = workspace.run?.run ?? workspace.last_run?.run
  return run === undefined ? undefined : findRun(core, workspace, run)
}

/** The n-th run of a workspace; without a number the last. */
export async function numberedRun(
  core: Core,
  workspace: Workspace,
  number?: number,
): Promise<RunView & { readonly run: RunId }> {
  const all = [...(await runsOf(core, workspace)).values()]
  const found = number === undefined ? all.at(-1) : all.find((one) => one.number === number)
  if (found === undefined) throw noRun(workspace, number)
  return found as RunView & { run: RunId }
}

export async function findRun(core: Core, workspace: Workspace, run: RunId): Promise<RunView> {
  const found = (await runsOf(core, workspace, run)).get(run)
  if (found === undefined) throw noRun(workspace)
  return found
}

const types = ['run_requested', 'run_started', 'run_completed', 'run_failed', 'run_cancelled'] as const

/** @param only the one whose prompt is wanted; without it, those of all */
export async function runsOf(core: Core, workspace: Workspace, only?: RunId): Promise<Map<string, RunView>> {
  const found = new Map<string, RunView>()
  for await (const event of core.store.read(workspace.id, { types: [...types] })) {
    if (event.type === 'run_requested') {
      const prompt = only === undefined || only === event.data.run ? await promptLine(core, event.data) : null
      found.set(event.data.run, { ...requestedView(workspace, event), prompt })
    }
    const before = 'run' in event.data ? found.get(event.data.run) : undefined
    if (before !== undefined) found.set(before.run, viewAfter(before, event))
  }
  const open = workspace.run
  const view = open === undefined ? undefined : found.get(open.run)
  // What has ended is told as ended, though nobody has written it down yet.
  const over = open === undefined ? undefined : await runEndOf(core, workspace, open)
  if (open !== undefined && view !== undefined && over !== undefined) {
    const { exit, problem = null, at } = over
    found.set(open.run, { ...view, state: stateOf(open, over), exit, problem, ended_at: at?.toISOString() ?? null })
  }
  return found
}

/** The log holds no word of a prompt: its text is beside it, and may have been erased since, or damaged. */
async function promptLine(core: Core, { run, prompt }: Requested['data']): Promise<string | null> {
  const text = prompt === null ? undefined : await core.texts.get(run, prompt).catch(() => undefined)
  return text === undefined ? null : labelFrom(text)
}

type Requested = Extract<AnyEvent, { type: 'run_requested' }>

function requestedView(workspace: Workspace, { data, at }: Requested): Omit<RunView, 'prompt'> {
  const { run, number, agent, argv, argv_cut, label } = data
  const open = { state: 'pending' as const, started_at: null, ended_at: null, exit: null, problem: null }
  const kept = { before: null, snapshot: null, not_kept: null }
  return {
    run,
    number,
    workspace: nameOf(workspace),
    agent,
    argv: [...argv],
    argv_cut,
    label,
    requested_at: at,
    ...open,
    ...kept,
  }
}

function viewAfter(view: RunView, event: AnyEvent): RunView {
  switch (event.type) {
    case 'run_started':
      return { ...view, state: 'running', started_at: event.at, before: event.data.before }
    case 'run_completed':
      return {
        ...view,
        state: 'completed',
        ended_at: event.at,
        ...outcome(event.data),
        problem: event.data.not_kept ?? null,
      }
    case 'run_failed':
      return { ...view, state: 'failed', ended_at: event.at, ...outcome(event.data), problem: event.data.problem }
    case 'run_cancelled':
      return {
        ...view,
        state: 'cancelled',
        ended_at: event.at,
        ...outcome(event.data),
        problem: event.data.not_kept ?? null,
      }
    default:
      return view
  }
}

type Outcome = Pick<RunView, 'exit' | 'snapshot'> & Partial<Pick<RunView, 'not_kept'>>

const outcome = ({ exit, snapshot, not_kept: notKept = null }: Outcome) => ({ exit, snapshot, not_kept: notKept })

export const noRun = (workspace: { task: string; agent: string }, number?: number): AwError =>
  new AwError(
    'run_not_found',
    number === undefined ? `${nameOf(workspace)} had no run yet` : `${nameOf(workspace)} has no run ${number}`,
    {
      hint: `See which there are: aw runs ${nameOf(workspace)}`,
      data: { workspace: nameOf(workspace) },
    },
  )
