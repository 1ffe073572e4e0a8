import type { Inputs } from '../../api/table.ts'
import { assertAllowed } from '../../domain/workspace/allow.ts'
import type { CancelReason, StopReason } from '../../domain/workspace/events.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import { revokeBridge } from './bridge.ts'
import { endOwnBoxes, ignoreTimeout } from './commands.ts'
import { newEvent, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { append, begin, intentOf, isFenced, nameFields, rollBack, withWorkspace } from '../kernel/operations.ts'
import { closeRun } from '../runs/end.ts'
import { endedBySize } from '../space/size-watch.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

/** Ends the sandbox and everything in it, and commands that have one of their own. Without any there is nothing to do. */
export async function stop(core: Core, input: Inputs['stop'], request: Request): Promise<WorkspaceView> {
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (workspace) => {
    assertAllowed(workspace, 'stop')
    const { sandbox, commands = [] } = workspace
    const stopped = sandbox !== undefined || commands.some(({ own_sandbox: own }) => own)
    return { ...view(core, await endBoxes(core, request, workspace, 'user', input.grace_ms)), stopped }
  })
}

/** Needs the lock. */
export async function stopBox(
  core: Core,
  request: Request,
  workspace: Workspace,
  why: StopReason,
  graceMs = 2_000,
): Promise<Workspace> {
  const box = workspace.sandbox
  if (box === undefined) return workspace
  const started = await begin(core, request, workspace, 'sandbox_stop_started', 'stop', {
    ...nameFields(workspace),
    sandbox: box.sandbox,
    why,
  })
  try {
    const driver = await core.sandboxes(box.isolation)
    await using found = await driver.find(box.sandbox).catch(ignoreTimeout)
    await found?.stop({ graceMs })
    return await finishStop(core, request, started.workspace, started.operation)
  } catch (error) {
    if (isFenced(error)) throw error
    await rollBack(core, request, started, 'stop', error)
    throw error
  }
}

/** Whatever is left of it goes. Safe to repeat. */
export async function finishStop(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const { sandbox, why } = intentOf(workspace, 'stop')
  if (workspace.sandbox !== undefined) await (await core.sandboxes(workspace.sandbox.isolation)).remove(sandbox)
  if (workspace.sandbox?.mcp === true) await revokeBridge(core, request, sandbox)
  const event = newEvent(core, request, 'sandbox_stopped', { ...nameFields(workspace), sandbox, why }, operation)
  return append(core, request, workspace, [event])
}

/** A sandbox that the log knows and that is not there any more is closed in the log. Needs the lock. */
export async function closeLostBox(core: Core, request: Request, workspace: Workspace): Promise<Workspace> {
  const box = workspace.sandbox
  if (box === undefined || core.host.liveness(box.supervisor) !== 'dead') return workspace
  const why = (await endedBySize(core, workspace)) ? ('size_limit' as const) : ('lost' as const)
  if (why === 'size_limit') await core.sizes.remove(workspace.id)
  await (await core.sandboxes(box.isolation)).remove(box.sandbox)
  if (box.mcp === true) await revokeBridge(core, request, box.sandbox)
  const data = { ...nameFields(workspace), sandbox: box.sandbox, why }
  return append(core, request, workspace, [newEvent(core, request, 'sandbox_stopped', data)])
}

/** Nothing of ours runs around the workspace afterwards. Needs the lock. */
export async function endBoxes(
  core: Core,
  request: Request,
  workspace: Workspace,
  why: StopReason,
  graceMs?: number,
): Promise<Workspace> {
  const quiet = await stopBox(core, request, await endOwnBoxes(core, request, workspace, graceMs), why, graceMs)
  // A run has ended with the sandbox it was in.
  if (quiet.run?.started === undefined) return quiet
  return closeRun(core, request, quiet, { exit: (await core.logs.end(quiet.run.run))?.exit ?? null }, reasonOf(why))
}

const reasonOf = (why: StopReason): CancelReason => (why === 'user' || why === 'run' ? 'stop' : why)
