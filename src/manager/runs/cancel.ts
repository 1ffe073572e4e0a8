import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import type { RunId, WorkspaceId } from '../../domain/ids.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import { ignoreTimeout } from '../sandboxes/commands.ts'
import { newEvent, uncancellable, type Core, type Request } from '../core.ts'
import { findWithRun } from '../kernel/find.ts'
import { append, nameFields, withWorkspace } from '../kernel/operations.ts'
import { runEndOf } from './end.ts'
import { endRun, settle, settleRun } from './settle.ts'
import { findRun, noRun } from './queries.ts'

/** Ends the run of a workspace. One that has ended by itself meanwhile is told as it is. */
export async function cancel(core: Core, input: Inputs['cancel'], request: Request): Promise<Outputs['cancel']> {
  const { workspace: found, run: named } = await findWithRun(core, input.id)
  const run = named ?? found.run?.run ?? found.last_run?.run
  if (run === undefined) throw noRun(found)
  if (found.run?.run !== run) throw hasEnded(found, run, (await findRun(core, found, run)).state)
  return findRun(core, await cancelRun(core, request, found.id, run, input.grace_ms), run)
}

const hasEnded = (workspace: Workspace, run: RunId, state: string): AwError => {
  const which = workspace.last_run?.run === run ? 'last run' : `run ${run}`
  return new AwError('invalid_state', `The ${which} of ${nameOf(workspace)} has ended already: it is ${state}`, {
    hint: `See: aw runs ${nameOf(workspace)}`,
    data: { id: workspace.id, run },
  })
}

/** The wish is in the log first. Then it is asked to end, and after the grace it is ended. */
export async function cancelRun(
  core: Core,
  request: Request,
  id: WorkspaceId,
  run: RunId,
  graceMs = 5_000,
): Promise<Workspace> {
  const still = uncancellable(request)
  const isOpen = (workspace: Workspace): boolean => workspace.run?.run === run
  const asked = await withWorkspace(core, { ...still, lease: request.lease }, id, async (found) => {
    const workspace = await settleRun(core, still, found)
    if (!isOpen(workspace) || workspace.run?.cancelling === true) return workspace
    return append(core, still, workspace, [
      newEvent(core, still, 'run_cancel_started', { ...nameFields(workspace), run }),
    ])
  })
  if (!isOpen(asked)) return asked
  await signalled(core, asked, run, 'SIGTERM')
  if (!(await overWithin(core, id, run, graceMs))) {
    await signalled(core, asked, run, 'SIGKILL')
    await overWithin(core, id, run, killMs)
  }
  const settled = await settle(core, still, id)
  if (!isOpen(settled)) return settled
  // It hangs: its own sandbox can be ended all the same, and one that never started is over.
  return withWorkspace(core, still, id, async (workspace) =>
    isOpen(workspace) && workspace.run?.started?.own_sandbox !== false
      ? endRun(core, still, workspace, { exit: null })
      : workspace,
  )
}

const killMs = 5_000

async function signalled(core: Core, { run: open }: Workspace, run: RunId, signal: string): Promise<void> {
  if (open?.started === undefined) return
  const driver = await core.sandboxes(open.started.isolation)
  await using box = await driver.find(open.started.sandbox).catch(ignoreTimeout)
  await box?.signalKept(await core.logs.place(run), signal).catch((error: unknown) => {
    // It has ended just now.
    if (toAwError(error).code !== 'sandbox_gone') ignoreTimeout(error)
  })
}

async function overWithin(core: Core, id: WorkspaceId, run: RunId, ms: number): Promise<boolean> {
  const until = performance.now() + ms
  for (;;) {
    const workspace = await core.store.get(id)
    if (workspace?.run?.run !== run || (await runEndOf(core, workspace, workspace.run)) !== undefined) return true
    if (performance.now() >= until) return false
    await core.host.pause(25)
  }
}
