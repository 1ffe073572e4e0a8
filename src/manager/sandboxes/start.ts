import type { Inputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import { assertAccess, assertAllowed } from '../../domain/workspace/allow.ts'
import { nameOf, type BoxFacts, type Workspace } from '../../domain/workspace/state.ts'
import { driverOf, planSandbox, specOf } from './plan.ts'
import { newBridgeToken, revokeBridge } from './bridge.ts'
import { closeLostBox } from './stop.ts'
import { newEvent, newId, uncancellable, type Core, type OperationRef, type Request } from '../core.ts'
import { findWorkspace } from '../kernel/find.ts'
import { repairMetadata } from '../kernel/metadata.ts'
import {
  abandon,
  append,
  begin,
  intentOf,
  isFenced,
  nameFields,
  rollBack,
  withWorkspace,
} from '../kernel/operations.ts'
import { assertRoom } from '../space/size-limit.ts'
import { withSlot } from '../workspaces/slots.ts'
import { view, type WorkspaceView } from '../kernel/view.ts'

/** Starts a sandbox around a workspace that lives until it is stopped. */
export async function start(core: Core, input: Inputs['start'], request: Request): Promise<WorkspaceView> {
  const { id } = await findWorkspace(core, input.id)
  return withWorkspace(core, request, id, async (found) => {
    const workspace = await closeLostBox(core, request, found)
    if (workspace.sandbox !== undefined) throw alreadyStarted(workspace)
    assertAllowed(workspace, 'launch')
    assertAccess(workspace, 'execute')
    await assertRoom(core, workspace)
    const planned = await planSandbox(core, workspace, input)
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
  const mended = await repairMetadata(core, workspace)
  const begun = await begin(core, request, workspace, 'sandbox_launch_started', 'launch', {
    ...nameFields(workspace),
    ...box,
  })
  try {
    const bridgeToken = await newBridgeToken(core, request, workspace, box)
    await using started = await driver.start(box.sandbox, plan, { signal: request.signal, bridgeToken })
    const walls = { grades: plan.grades, notes: [...plan.notes, ...mended] }
    const data = { ...nameFields(workspace), sandbox: box.sandbox, supervisor: started.owner, ...walls }
    const event = newEvent(core, request, 'sandbox_launched', data, begun.operation)
    return await append(core, request, begun.workspace, [event])
  } catch (error) {
    if (isFenced(error)) throw error
    await rollBack(core, request, begun, 'launch', error, async () => {
      await driver.remove(box.sandbox)
      if (box.mcp === true) await revokeBridge(core, uncancellable(request), box.sandbox)
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
