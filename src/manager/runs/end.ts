import { toAwError } from '../../domain/errors.ts'
import type { NewEvent } from '../../domain/log/event.ts'
import type { SnapshotId } from '../../domain/ids.ts'
import type { Exit } from '../../domain/sandbox/spec.ts'
import type { CancelReason } from '../../domain/workspace/events.ts'
import type { OpenRun } from '../../domain/workspace/runs.ts'
import type { Workspace } from '../../domain/workspace/state.ts'
import { ignoreTimeout } from '../sandboxes/commands.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { differs } from '../diff/differences.ts'
import { append, isFenced, nameFields } from '../kernel/operations.ts'
import { endedBySize } from '../space/size-watch.ts'
import { keepSnapshot, withKey } from '../snapshots/snapshot.ts'

interface Problem {
  readonly code: string
  readonly message: string
}

/** How a run ended, or why nobody knows. */
export interface RunEnd {
  readonly exit: Exit | null
  readonly problem?: Problem | undefined
  /** When, if that is known. */
  readonly at?: Date | undefined
}

/** Undefined as long as the run of a workspace goes on, or may. */
export async function runEndOf(core: Core, workspace: Workspace, run: OpenRun): Promise<RunEnd | undefined> {
  const { started } = run
  if (started === undefined) return core.host.liveness(run.owner) === 'dead' ? neverStarted : undefined
  const seen = await seenEnd(core, run)
  if (seen !== undefined) return seen
  const box = workspace.sandbox?.sandbox === started.sandbox ? workspace.sandbox : undefined
  const isGone = box === undefined ? started.launched : core.host.liveness(box.supervisor) === 'dead'
  // The end is written before the sandbox is gone.
  if (isGone) return (await seenEnd(core, run)) ?? (await lost(core, workspace))
  if (core.host.liveness(run.owner) !== 'dead' || (await isKnownToSandbox(core, run))) return undefined
  return (await seenEnd(core, run)) ?? neverStarted
}

const neverStarted: RunEnd = {
  exit: null,
  problem: { code: 'lost', message: 'the process that was to start it died' },
}

async function lost(core: Core, workspace: Workspace): Promise<RunEnd> {
  const { sandbox } = workspace
  const rebooted = sandbox !== undefined && sandbox.supervisor.boot_id !== core.host.owner().boot_id
  if (!rebooted && (await endedBySize(core, workspace))) return { exit: null, problem: overSize }
  const message = rebooted ? 'the machine was started anew' : 'its sandbox has ended, though nobody stopped it'
  return { exit: null, problem: { code: 'lost', message } }
}

async function seenEnd(core: Core, { run }: OpenRun): Promise<RunEnd | undefined> {
  const end = await core.logs.end(run)
  if (end === undefined) return undefined
  const { exit, errno, at } = end
  if (exit !== null) return { exit, at }
  return { exit, at, problem: { code: 'file_not_found', message: `it could not be started (errno ${errno})` } }
}

/** Whether the sandbox knows of it; one that does not answer may. */
export async function isKnownToSandbox(core: Core, { run, started }: OpenRun): Promise<boolean> {
  if (started === undefined) return false
  const driver = await core.sandboxes(started.isolation)
  try {
    await using box = await driver.find(started.sandbox)
    return (await box?.signalKept(await core.logs.place(run), 0)) ?? false
  } catch (error) {
    // It has ended just now.
    if (toAwError(error).code === 'sandbox_gone') return false
    ignoreTimeout(error)
    return true
  }
}

/**
 * Keeps what the run left as one step of the history, and writes down how it ended. Needs the lock; its sandbox, if it had
 * one of its own, has ended. Safe to repeat: the snapshot has the run as its key.
 */
export async function closeRun(
  core: Core,
  request: Request,
  workspace: Workspace,
  over: RunEnd,
  why?: CancelReason,
): Promise<Workspace> {
  const { run } = workspace
  if (run === undefined) return workspace
  const kept = await keepResult(core, request, workspace, run, over)
  const outcome = { ...nameFields(workspace), run: run.run, snapshot: kept.snapshot, ...kept.trouble }
  const { exit } = over
  const event = outcomeOf(why === undefined ? stateOf(run, over) : 'cancelled')
  const closed = await append(core, request, kept.workspace, [event])
  await dropOldLogs(core, closed, run.number)
  return closed

  function outcomeOf(state: ReturnType<typeof stateOf>): NewEvent {
    if (state === 'cancelled') return newEvent(core, request, 'run_cancelled', { ...outcome, exit, why: why ?? 'user' })
    if (state === 'completed' && exit !== null) return newEvent(core, request, 'run_completed', { ...outcome, exit })
    return newEvent(core, request, 'run_failed', { ...outcome, exit, problem: over.problem ?? problemOf(exit) })
  }
}

/** As what a run that is over will be in the log. */
export const stateOf = ({ cancelling }: OpenRun, { exit }: RunEnd): 'completed' | 'failed' | 'cancelled' =>
  cancelling === true ? 'cancelled' : exit?.code === 0 ? 'completed' : 'failed'

/** Whatever is in the way of that, the next run tries again. */
async function dropOldLogs(core: Core, { id }: Workspace, newest: number): Promise<void> {
  const keep = core.config.settings['runs.keep_logs']
  if (keep === 0 || newest <= keep) return
  for await (const { data } of core.store.read(id, { types: ['run_requested'] }))
    if ('number' in data && data.number <= newest - keep) await core.logs.remove(data.run).catch(() => undefined)
}

const overSize: Problem = {
  code: 'quota_exceeded',
  message: 'it was stopped because its workspace passed its size limit',
}

function problemOf(exit: Exit | null): Problem {
  if (exit?.over_limit === true) return overSize
  if (exit?.timed_out === true) return { code: 'timeout', message: 'its time was over' }
  if (exit?.signal != null) return { code: 'exit', message: `it was ended by ${exit.signal}` }
  return { code: 'exit', message: `it ended with exit code ${exit?.code ?? 'unknown'}` }
}

interface KeptResult {
  readonly workspace: Workspace
  readonly snapshot: SnapshotId | null
  /** It has run; what it left could not be kept. */
  readonly trouble?: { readonly not_kept: Problem } | undefined
}

async function keepResult(
  core: Core,
  request: Request,
  workspace: Workspace,
  run: OpenRun,
  { exit }: RunEnd,
): Promise<KeptResult> {
  if (run.snapshot === 'off' || run.started === undefined) return { workspace, snapshot: null }
  try {
    const earlier = await withKey(core, workspace, run.run)
    if (earlier !== undefined) return { workspace, snapshot: earlier.snapshot }
    if (workspace.head !== null && !(await differs(core, workspace, workspace.head)))
      return { workspace, snapshot: null }
    const meta = { run: run.run, number: run.number, agent: run.agent, code: exit?.code ?? null }
    const plan = { label: run.label, meta, key: run.run, reason: 'auto' as const }
    const made = await keepSnapshot(core, request, workspace, plan)
    return { workspace: made.workspace, snapshot: made.snapshot.snapshot }
  } catch (error) {
    if (isFenced(error)) throw error
    const { code, message } = toAwError(error)
    const now = (await core.store.get(workspace.id)) ?? workspace
    return { workspace: now, snapshot: null, trouble: { not_kept: { code, message } } }
  }
}
