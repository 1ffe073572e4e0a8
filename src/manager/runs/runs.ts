import type { Inputs } from '../../api/table.ts'
import { isLive, workspaceStates } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { lastRun, runsOf, type RunView } from './queries.ts'

/** All runs of one workspace, or the last of each. */
export async function runs(core: Core, input: Inputs['runs']): Promise<RunView[]> {
  const found =
    input.id === undefined
      ? await lastOfEach(core)
      : [...(await runsOf(core, await findWorkspace(core, input.id))).values()]
  const wanted = input.state === undefined ? found : found.filter(({ state }) => input.state?.includes(state))
  return wanted.slice(-(input.limit ?? wanted.length))
}

async function lastOfEach(core: Core): Promise<RunView[]> {
  const live = await core.store.list({ states: workspaceStates.filter(isLive) })
  const last: RunView[] = []
  for (const workspace of live) {
    const run = await lastRun(core, workspace)
    if (run !== undefined) last.push(run)
  }
  return last.toSorted((one, other) => (one.requested_at < other.requested_at ? -1 : 1))
}
