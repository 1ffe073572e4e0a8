import type { AnyEvent } from '../log/event.ts'
import type { EndedRun } from './runs.ts'
import type { Workspace } from './state.ts'

/** The part of `evolve` that is about runs. */
export function evolveRuns(before: Workspace, event: AnyEvent): Workspace {
  switch (event.type) {
    case 'run_requested': {
      const { task_id: _, agent_id: __, ...plan } = event.data
      return { ...before, runs: plan.number, run: { ...plan, state: 'pending', requested_at: event.at } }
    }
    case 'run_started': {
      if (before.run?.run !== event.data.run) return before
      const { sandbox, own_sandbox, isolation, before: kept } = event.data
      const started = { at: event.at, sandbox, own_sandbox, isolation, before: kept, launched: !own_sandbox }
      return { ...before, run: { ...before.run, state: 'running', started } }
    }
    case 'sandbox_launched': {
      const { run } = before
      if (run?.started?.sandbox !== event.data.sandbox) return before
      return { ...before, run: { ...run, started: { ...run.started, launched: true } } }
    }
    case 'run_cancel_started':
      if (before.run?.run !== event.data.run) return before
      return { ...before, run: { ...before.run, cancelling: true } }
    case 'run_completed':
      return ended(before, event, 'completed')
    case 'run_failed':
      return ended(before, event, 'failed')
    case 'run_cancelled':
      return ended(before, event, 'cancelled')
    default:
      return before
  }
}

function ended(
  before: Workspace,
  { at, data }: Extract<AnyEvent, { type: 'run_completed' | 'run_failed' | 'run_cancelled' }>,
  state: EndedRun['state'],
): Workspace {
  const { run: open, ...others } = before
  if (open?.run !== data.run) return before
  const { run, number, agent, prompt } = open
  const last = { run, number, state, at, code: data.exit?.code ?? null, agent, prompt }
  return { ...others, last_run: last }
}
