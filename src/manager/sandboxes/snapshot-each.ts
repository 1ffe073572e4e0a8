import type { CommandId, RunId, SnapshotId, WorkspaceId } from '../../domain/ids.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import { type Core, type Request, uncancellable } from '../core.ts'
import { differs } from '../diff/differences.ts'
import type { StartedCommand } from './exec-one.ts'
import { withWorkspace } from '../kernel/operations.ts'
import { keepSnapshot } from '../snapshots/snapshot.ts'

/** The workspace as it is before a command, so that what the command does can be taken back. Needs the lock. */
export async function snapshotBefore(
  core: Core,
  request: Request,
  workspace: Workspace,
  command: CommandId | RunId,
): Promise<Workspace> {
  const { head } = workspace
  if (head !== null && !(await differs(core, workspace, head))) return workspace
  const plan = { label: null, meta: { before: command }, key: null, reason: 'auto' as const }
  return (await keepSnapshot(core, request, workspace, plan)).workspace
}

/** What a command left, if it changed anything: one step of the history, which undo takes back. */
export async function snapshotAfter(
  core: Core,
  request: Request,
  id: WorkspaceId,
  { command, each }: StartedCommand,
): Promise<SnapshotId | null> {
  if (!each) return null
  // Whoever has stopped listening may want to take it back later.
  const still = uncancellable(request)
  return withWorkspace(core, still, id, async (workspace) => {
    const { head } = workspace
    if (head === null || !(await differs(core, workspace, head))) return null
    const plan = { label: null, meta: { command }, key: null, reason: 'auto' as const }
    return (await keepSnapshot(core, still, workspace, plan)).snapshot.snapshot
  })
}
