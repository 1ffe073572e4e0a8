import { baseOf, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core } from '../core.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

export const viewWithLineage = async (core: Core, workspace: Workspace): Promise<WorkspaceView> => ({
  ...view(core, workspace),
  ...(await lineage(core, workspace)),
})

/** Where a workspace came from and what came from it. */
async function lineage(core: Core, workspace: Workspace): Promise<Partial<WorkspaceView>> {
  const { source } = workspace
  const forks = await core.store.list({ forkOf: workspace.id })
  return {
    forked_from:
      source.kind === 'workspace'
        ? { id: source.workspace, name: source.name, snapshot: source.snapshot, at: source.at }
        : null,
    forks: forks
      .filter(({ state }) => state !== 'purged')
      .map((fork) => ({ id: fork.id, name: nameOf(fork), snapshot: baseOf(fork) ?? '' })),
  }
}
