import type { RunId, WorkspaceId } from '../../domain/ids.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import { type Core, type Request, uncancellable } from '../core.ts'
import { stopBox } from '../sandboxes/stop.ts'
import { withWorkspace } from '../kernel/operations.ts'
import { closeRun, isKnownToSandbox, type RunEnd, runEndOf } from './end.ts'

/** A run that is over is closed in the log, and its own sandbox with it. Needs the lock. */
export async function settleRun(core: Core, request: Request, workspace: Workspace): Promise<Workspace> {
  const over = workspace.run === undefined ? undefined : await runEndOf(core, workspace, workspace.run)
  return over === undefined ? workspace : endRun(core, request, workspace, over)
}

/** What is left of a run's own sandbox goes first, so that nothing writes while what it left is kept. Needs the lock. */
export async function endRun(core: Core, request: Request, workspace: Workspace, over: RunEnd): Promise<Workspace> {
  const started = workspace.run?.started
  const isOwn = started?.own_sandbox === true && workspace.sandbox?.sandbox === started.sandbox
  const quiet = isOwn ? await stopBox(core, request, workspace, 'run', 0) : workspace
  return closeRun(core, request, quiet, over)
}

/** As `settleRun`, for whoever has no lock. Whoever has gone meanwhile does not keep it from being done. */
export async function settle(core: Core, request: Request, id: WorkspaceId): Promise<Workspace> {
  const still = uncancellable(request)
  return withWorkspace(core, still, id, (workspace) => settleRun(core, still, workspace))
}

/**
 * For whoever asked for a run and listens no more. One that has ended while it listened is followed by nobody else; one that
 * the sandbox still knows of is followed by its supervisor. Whatever is in the way, the next one who touches the workspace
 * brings the run to its end.
 */
export async function detachRun(core: Core, request: Request, id: WorkspaceId, run: RunId): Promise<void> {
  const workspace = await core.store.get(id)
  if (workspace?.run?.run !== run || (await isKnownToSandbox(core, workspace.run))) return
  await settle(core, request, id).catch(() => undefined)
}
