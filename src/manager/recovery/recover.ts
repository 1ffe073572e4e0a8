import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError, toAwError } from '../../domain/errors.ts'
import { formatName, parseName } from '../../domain/names.ts'
import { nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Request } from '../core.ts'
import { createFrom } from '../workspaces/create.ts'
import { findLiveOrTrashed } from '../kernel/find.ts'
import { canTakeOver, isSame, lockWorkspace, retireIfPurged, takeOver } from '../kernel/operations.ts'
import { isMoved, orphanSource, profileIn } from './orphans.ts'
import { reconcile } from './reconcile.ts'
import { view } from '../kernel/view.ts'

type Report = Outputs['recover']
type Recovered = Report['recovered'][number]
type Busy = Report['busy'][number]
type Failed = Report['failed'][number]
type Result = { recovered: Recovered } | { busy: Busy } | { failed: Failed }

/** Finishes or undoes what dead processes left, then compares log and disk. */
export async function recover(core: Core, input: Inputs['recover'], request: Request): Promise<Report> {
  return input.as === undefined ? recoverAll(core, input, request) : bringBack(core, input, input.as, request)
}

/** Makes a workspace of a tree that the log does not know. That it does not is found out by looking at all of it. */
async function bringBack(core: Core, { id, steal }: Inputs['recover'], as: string, request: Request): Promise<Report> {
  if (steal === true) {
    throw new AwError(
      'invalid_input',
      'A tree that the log does not know is nobody’s: there is nobody to take it from',
      {
        hint: 'Leave --steal out, or --as',
        data: { field: 'steal' },
      },
    )
  }
  if (id === undefined) {
    throw new AwError('invalid_input', 'Which tree is to be brought back?', {
      hint: 'Name it as aw recover lists it: aw recover volumes/ws_… --as TASK/AGENT',
      data: { field: 'id' },
    })
  }
  const name = formatName(parseName(as))
  const report = await recoverAll(core, {}, request)
  const source = orphanSource(id, report.orphans)
  const settings = { id: name, profile: await profileIn(core, source) }
  const made = view(core, await createFrom(core, settings, source, request))
  // What is frozen is still there.
  return { ...report, orphans: report.orphans.filter((tree) => tree !== id || !isMoved(source)), made }
}

async function recoverAll(core: Core, input: Inputs['recover'], request: Request): Promise<Report> {
  if (input.steal === true && input.id === undefined) {
    throw new AwError('invalid_input', 'Which workspace is to be taken from its process?', {
      hint: 'Name it: aw recover TASK/AGENT --steal',
      data: { field: 'id' },
    })
  }
  const one = input.id === undefined ? undefined : await findLiveOrTrashed(core, input.id)
  const unfinished = one === undefined ? await core.store.list({ inOperation: true }) : [one]
  const results: Result[] = []
  for (const workspace of unfinished) {
    const result = await recoverOne(core, request, workspace, input.steal === true)
    if (result !== undefined) results.push(result)
  }
  const { failed, ...found } = await reconcile(core, request, one)
  return {
    recovered: results.flatMap((result) => ('recovered' in result ? [result.recovered] : [])),
    busy: results.flatMap((result) => ('busy' in result ? [result.busy] : [])),
    failed: [...results.flatMap((result) => ('failed' in result ? [result.failed] : [])), ...failed],
    ...found,
  }
}

async function recoverOne(core: Core, request: Request, stale: Workspace, steal: boolean): Promise<Result | undefined> {
  const { id } = stale
  try {
    if (steal) await endOwner(core, stale)
    using lock = await lockWorkspace(core, request, id, 200)
    const workspace = await core.store.get(id)
    if (workspace?.operation == null) return undefined
    if (!canTakeOver(core, workspace)) return busyWith(workspace)
    const { kind } = workspace.operation
    const { outcome, workspace: after } = await takeOver(core, request, workspace)
    await retireIfPurged(core, lock, id)
    return { recovered: { id, name: nameOf(after), operation: kind, outcome } }
  } catch (error) {
    const { code, message } = toAwError(error)
    if (code === 'workspace_busy') return busyWith((await core.store.get(id)) ?? stale)
    if (code === 'aborted' || code === 'storage_unavailable') throw error
    return { failed: { id, name: nameOf(stale), operation: stale.operation?.kind ?? 'none', message } }
  }
}

/** A live owner holds the lock, so it must be gone before the lock can be had; unless it has finished meanwhile. */
async function endOwner(core: Core, { id, operation }: Workspace): Promise<void> {
  if (operation === null || isSame(operation.owner, core.host.owner())) return
  if (core.host.liveness(operation.owner) !== 'alive') return
  const confirm = async (): Promise<boolean> => {
    const now = (await core.store.get(id))?.operation
    return now?.id === operation.id && now.epoch === operation.epoch
  }
  await core.host.kill(operation.owner, { timeoutMs: 5000, confirm })
}

function busyWith(workspace: Workspace): Result | undefined {
  const operation = workspace.operation
  if (operation === null) return undefined
  return { busy: { id: workspace.id, name: nameOf(workspace), operation: operation.kind, pid: operation.owner.pid } }
}
