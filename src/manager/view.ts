import type { Outputs } from '../api/table.ts'
import { nameOf, type Workspace } from '../domain/workspace/state.ts'

export type WorkspaceView = Outputs['show']

/** What the doors show of a workspace: owners of operations and recovery data stay inside. */
export function view(workspace: Workspace): WorkspaceView {
  const { id, task, agent, state, path, profile, source, config, labels, driver, generation } = workspace
  const operation = workspace.operation
  return {
    workspace_id: nameOf(workspace),
    id,
    task,
    agent,
    state,
    path,
    profile,
    source,
    config,
    labels,
    driver,
    generation,
    created_at: workspace.created_at,
    updated_at: workspace.updated_at,
    operation:
      operation === null
        ? null
        : { id: operation.id, kind: operation.kind, started_at: operation.started_at, epoch: operation.epoch },
    problem: workspace.problem,
    trash: workspace.trash,
    imported: workspace.imported as WorkspaceView['imported'],
  }
}
