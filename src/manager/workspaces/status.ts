import type { Inputs, Outputs } from '../../api/table.ts'
import { isLive, nameOf, workspaceStates, type Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { lastRun } from '../runs/queries.ts'

type Status = Outputs['status']

/** Everything at a glance. Looks only: what has ended is told as ended, though nobody has written it down yet. */
export async function status(core: Core, { task }: Inputs['status']): Promise<Status> {
  const live = await core.store.list({ task, states: workspaceStates.filter(isLive) })
  const trashed = await core.store.list({ task, states: ['trashed'] })
  const workspaces = await Promise.all(live.map((workspace) => line(core, workspace)))
  return {
    workspaces: workspaces.toSorted((one, other) => (one.updated_at < other.updated_at ? -1 : 1)),
    running: workspaces.filter(({ run }) => run?.state === 'running' || run?.state === 'pending').length,
    trashed: trashed.length,
  }
}

async function line(core: Core, workspace: Workspace): Promise<Status['workspaces'][number]> {
  const { state, operation, sandbox, commands, snapshots, created_at, updated_at, problem } = workspace
  return {
    workspace: nameOf(workspace),
    state,
    operation: operation?.kind ?? null,
    isolation: sandbox?.isolation ?? null,
    commands: commands?.length ?? 0,
    snapshots: snapshots.all,
    created_at,
    updated_at,
    problem,
    run: (await lastRun(core, workspace)) ?? null,
  }
}
