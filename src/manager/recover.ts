import type { Inputs, Outputs } from '../api/table.ts'
import { AwError, toAwError } from '../domain/errors.ts'
import { nameOf, type Workspace } from '../domain/workspace/state.ts'
import type { Core, Request } from './core.ts'
import { findTrashed, lookUp } from './find.ts'
import { lockWorkspace, retireIfOver, takeOver } from './operations.ts'
import { reconcile } from './reconcile.ts'

type Report = Outputs['recover']
type Recovered = Report['recovered'][number]
type Busy = Report['busy'][number]

/** Finishes or undoes what dead processes left, then compares log and disk. */
export async function recover(core: Core, input: Inputs['recover'], request: Request): Promise<Report> {
  const one =
    input.id === undefined ? undefined : ((await lookUp(core, input.id)) ?? (await findTrashed(core, input.id)))
  const unfinished = one === undefined ? await core.store.list({ inOperation: true }) : [one]
  const recovered: Recovered[] = []
  const busy: Busy[] = []
  for (const workspace of unfinished) {
    const result = await recoverOne(core, request, workspace, input.steal === true)
    if (result === undefined) continue
    if ('pid' in result) busy.push(result)
    else recovered.push(result)
  }
  const found = await reconcile(core, request, one)
  return { recovered, busy, ...found }
}

async function recoverOne(
  core: Core,
  request: Request,
  stale: Workspace,
  steal: boolean,
): Promise<Recovered | Busy | undefined> {
  const { id } = stale
  const owner = stale.operation?.owner
  // A live owner holds the lock: it must be gone before the lock can be had.
  if (steal && owner !== undefined && core.host.liveness(owner) === 'alive' && !isSelf(core, stale)) {
    await core.host.kill(owner, { timeoutMs: 5000 })
  }
  try {
    using lock = await lockWorkspace(core, request, id, 200)
    const workspace = await core.store.get(id)
    if (workspace?.operation == null) return undefined
    const dead = core.host.liveness(workspace.operation.owner) === 'dead' || isSelf(core, workspace)
    if (!dead) return busyWith(workspace)
    const { kind } = workspace.operation
    const { outcome, workspace: after } = await takeOver(core, request, workspace)
    await retireIfOver(core, lock, id)
    return { id, name: nameOf(after), operation: kind, outcome }
  } catch (error) {
    if (toAwError(error).code === 'workspace_busy') return busyWith((await core.store.get(id)) ?? stale)
    const { code, message } = toAwError(error)
    if (code === 'aborted' || code === 'storage_unavailable') throw error
    return { id, name: nameOf(stale), operation: stale.operation?.kind ?? 'none', outcome: `failed: ${message}` }
  }
}

function busyWith(workspace: Workspace): Busy | undefined {
  const operation = workspace.operation
  if (operation === null) return undefined
  return { id: workspace.id, name: nameOf(workspace), operation: operation.kind, pid: operation.owner.pid }
}

const isSelf = (core: Core, workspace: Workspace): boolean => {
  const owner = workspace.operation?.owner
  const own = core.host.owner()
  if (owner === undefined) throw new AwError('internal', 'No operation to compare')
  return owner.pid === own.pid && owner.start_time === own.start_time && owner.boot_id === own.boot_id
}
