import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { assertAllowed, assertOperation } from '../../domain/workspace/allow.ts'
import type { CancelReason, StopReason } from '../../domain/workspace/events.ts'
import { nameOf, type BoxFacts, type Workspace } from '../../domain/workspace/state.ts'
import { driverOf, plannedBox, specOf } from './plan.ts'
import { newBridgeToken, revokeBridge } from './bridge.ts'
import { endOwnBoxes, unlessSilent } from './commands.ts'
import { afterwards, newEvent, newId, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { mendMetadata } from '../kernel/metadata.ts'
import { abandon, append, begin, giveUp, intentOf, isFenced, whose, withWorkspace } from '../kernel/operations.ts'
import { closeRun } from '../runs/end.ts'
import { assertRoom } from '../space/size-limit.ts'
import { endedBySize } from '../space/size-watch.ts'
import { withSlot } from '../workspaces/slots.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

/** Starts a sandbox around a workspace that lives until it is stopped. */
export async function start(core: Core, input: Inputs['start'], request: Request): Promise<WorkspaceView> {
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (found) => {
    const workspace = await closeLostBox(core, request, found)
    if (workspace.sandbox !== undefined) throw alreadyStarted(workspace)
    assertAllowed(workspace, 'launch')
    assertOperation(workspace, 'execute')
    await assertRoom(core, workspace)
    const planned = await plannedBox(core, workspace, input)
    return view(core, await launch(core, request, workspace, { sandbox: newId(core, 'box'), ...planned }))
  })
}

const alreadyStarted = (workspace: Workspace): AwError =>
  new AwError(
    'invalid_state',
    `${nameOf(workspace)} has a sandbox already, with isolation ${workspace.sandbox?.isolation}`,
    {
      hint: `Run something in it: aw exec ${nameOf(workspace)} -- COMMAND; or end it: aw stop ${nameOf(workspace)}`,
      data: { id: workspace.id, sandbox: workspace.sandbox?.sandbox },
    },
  )

/** What cannot be enforced is refused before anything is written or started. Needs the lock. */
export async function launch(core: Core, request: Request, found: Workspace, box: BoxFacts): Promise<Workspace> {
  const workspace = await withSlot(core, request, found)
  const driver = await driverOf(core, box.isolation)
  const plan = await driver.plan(await specOf(core, workspace, box))
  const mended = await mendMetadata(core, workspace)
  const begun = await begin(core, request, workspace, 'sandbox_launch_started', 'launch', {
    ...whose(workspace),
    ...box,
  })
  try {
    const bridgeToken = await newBridgeToken(core, request, workspace, box)
    await using started = await driver.start(box.sandbox, plan, { signal: request.signal, bridgeToken })
    const walls = { grades: plan.grades, notes: [...plan.notes, ...mended] }
    const data = { ...whose(workspace), sandbox: box.sandbox, supervisor: started.owner, ...walls }
    const event = newEvent(core, request, 'sandbox_launched', data, begun.operation)
    return await append(core, request, begun.workspace, [event])
  } catch (error) {
    if (isFenced(error)) throw error
    await giveUp(core, request, begun, 'launch', error, async () => {
      await driver.remove(box.sandbox)
      if (box.mcp === true) await revokeBridge(core, afterwards(request), box.sandbox)
    })
    throw error
  }
}

/** Nobody was told of it: it goes. */
export async function undoLaunch(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
): Promise<Workspace> {
  const { sandbox, isolation, mcp } = intentOf(workspace, 'launch')
  await (await core.sandboxes(isolation)).remove(sandbox)
  if (mcp === true) await revokeBridge(core, request, sandbox)
  const reason = new Error('the process that started the sandbox died before it was up')
  return abandon(core, request, workspace, operation, 'launch', reason)
}

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
  const begun = await begin(core, request, workspace, 'sandbox_stop_started', 'stop', {
    ...whose(workspace),
    sandbox: box.sandbox,
    why,
  })
  try {
    const driver = await core.sandboxes(box.isolation)
    await using found = await driver.find(box.sandbox).catch(unlessSilent)
    await found?.stop({ graceMs })
    return await finishStop(core, request, begun.workspace, begun.operation)
  } catch (error) {
    if (isFenced(error)) throw error
    await giveUp(core, request, begun, 'stop', error)
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
  const event = newEvent(core, request, 'sandbox_stopped', { ...whose(workspace), sandbox, why }, operation)
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
  const data = { ...whose(workspace), sandbox: box.sandbox, why }
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

/** The sandbox that was around it before its tree was replaced is started anew around the new one; not that of a run. */
export async function restarted(core: Core, request: Request, before: Workspace, after: Workspace): Promise<Workspace> {
  const isOfRun = before.run?.started?.own_sandbox === true
  return before.sandbox === undefined || isOfRun ? after : launch(core, request, after, factsOf(core, before.sandbox))
}

const factsOf = (core: Core, { isolation, network, limits, mount, shared, agent, mcp }: BoxFacts): BoxFacts => ({
  sandbox: newId(core, 'box'),
  isolation,
  network,
  limits,
  mount,
  shared,
  ...(agent === undefined ? {} : { agent }),
  ...(mcp === undefined ? {} : { mcp }),
})
