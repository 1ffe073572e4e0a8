import { AwError, toAwError } from '../../domain/errors.ts'
import type { EventData, NewEvent } from '../../domain/log/event.ts'
import type { WorkspaceId } from '../../domain/ids.ts'
import { spaceLimitsOf } from '../../domain/space/limits.ts'
import type { Intents, WorkspaceEventType } from '../../domain/workspace/events.ts'
import { isLive, nameOf, type OperationKind, type Owner, type Workspace } from '../../domain/workspace/state.ts'
import type { AppendLimits } from '../../ports/event-store.ts'
import type { Lock } from '../../ports/host.ts'
import { newEvent, newId, type Core, type OperationRef, type Request } from '../core.ts'
import { assertLease } from '../access/lease-fence.ts'

/**
 * Runs work on a workspace under its lock, with its state as it is then. What a dead process left unfinished is
 * finished or undone first: a write recovers the workspace it touches. Who asks under a lease must hold it.
 */
export async function withWorkspace<T>(
  core: Core,
  request: Request,
  id: WorkspaceId,
  work: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  using lock = await lockWorkspace(core, request, id)
  const found = await core.store.get(id)
  try {
    if (found === undefined) throw new AwError('workspace_not_found', `There is no workspace ${id}`, { data: { id } })
    await assertLease(core, request, id, nameOf(found))
    if (found.operation === null) return await work(found)
    return await work(await recoverUnderLock(core, request, found))
  } finally {
    if (found === undefined || found.state === 'purged' || purgedHere.has(id)) await retireIfPurged(core, lock, id)
  }
}

/** Workspaces that this process has erased, until their locks are retired. */
const purgedHere = new Set<WorkspaceId>()

/** Nothing follows an erased workspace, and every holder of a lock looks first: the lock of such a one need not stay. */
export async function retireIfPurged(core: Core, lock: Lock, id: WorkspaceId): Promise<void> {
  purgedHere.delete(id)
  const workspace = await core.store.get(id).catch(() => null)
  // One that was given up as lost may turn up again.
  const isOver = workspace?.state === 'purged' && workspace.problem?.code !== 'lost'
  if (workspace === undefined || isOver) lock.retire()
}

/**
 * The lock, or `workspace_busy` with what is known about the holder. As long as others get something done on the
 * workspace, nobody is stuck, and the time begins again.
 */
export async function lockWorkspace(core: Core, request: Request, id: WorkspaceId, timeoutMs?: number): Promise<Lock> {
  const { signal } = request
  const limitMs = timeoutMs ?? core.config.settings['locks.timeout_ms']
  const firstMs = Math.min(limitMs, firstWaitMs)
  const first = await core.host.lock(id, { timeoutMs: firstMs, signal })
  if (first !== undefined) return first
  let holder = await core.store.get(id)
  for (let leftMs = limitMs - firstMs; ; leftMs = limitMs) {
    const lock = await core.host.lock(id, { timeoutMs: leftMs, signal })
    if (lock !== undefined) return lock
    const now = await core.store.get(id)
    if (timeoutMs !== undefined || now?.version === holder?.version) throw busy(now, id)
    holder = now
  }
}

/** Most locks are to be had before it is worth a look at who has them. */
const firstWaitMs = 200

/** The lock is ours; if the operation is nobody's any more, it is taken over. Otherwise nothing is concluded. */
async function recoverUnderLock(core: Core, request: Request, workspace: Workspace): Promise<Workspace> {
  const operation = workspace.operation
  if (operation === null) return workspace
  if (!canTakeOver(core, workspace)) throw busy(workspace, workspace.id)
  const { workspace: recovered } = await takeOver(core, request, workspace)
  return recovered
}

/** Raises the epoch, which fences the old owner off the log, then finishes or undoes its work. Needs the lock. */
export async function takeOver(
  core: Core,
  request: Request,
  workspace: Workspace,
): Promise<{ workspace: Workspace; outcome: string }> {
  const operation = workspace.operation
  if (operation === null) return { workspace, outcome: 'nothing to do' }
  const epoch = operation.epoch + 1
  const ref = { id: operation.id, epoch }
  const taken = newEvent(
    core,
    request,
    'operation_taken',
    { ...nameFields(workspace), operation: operation.kind, owner: core.host.owner(), epoch, from: operation.owner },
    ref,
  )
  const mine = await append(core, request, workspace, [taken])
  return core.recover(core, request, mine, ref)
}

/**
 * Whether an operation may be taken over by the holder of its workspace's lock. An owner holds that lock from before
 * its intent until after its outcome, and the kernel takes it from the dead. So the owner is gone if it is provably
 * dead, if it is this very process (which then gave up without an outcome), or if it ran under this very kernel, though
 * in a pid namespace we cannot look into. On another host only time tells.
 */
export function canTakeOver(core: Core, { operation, updated_at: since }: Workspace): boolean {
  if (operation === null) return false
  const { owner } = operation
  const own = core.host.owner()
  const alive = core.host.liveness(owner)
  if (alive !== 'unknown') return alive === 'dead' || isSame(owner, own)
  if (owner.boot_id !== '' && owner.boot_id === own.boot_id) return true
  const expiryMs = core.config.settings['locks.expiry_minutes'] * 60_000
  return core.clock.now().getTime() - Date.parse(since) > expiryMs
}

export const isSame = (one: Owner, other: Owner): boolean =>
  one.pid === other.pid &&
  one.start_time === other.start_time &&
  one.boot_id === other.boot_id &&
  one.pid_namespace === other.pid_namespace

function busy(workspace: Workspace | undefined, id: WorkspaceId): AwError {
  const operation = workspace?.operation
  const name = workspace === undefined ? id : nameOf(workspace)
  const what = operation
    ? `${operation.kind} by process ${operation.owner.pid} on ${operation.owner.host}`
    : 'another operation'
  return new AwError('workspace_busy', `${name} is busy with ${what}`, {
    hint: operation ? `${waitLonger}; if that process is stuck: aw recover ${name} --steal` : waitLonger,
    data: { id, operation: operation ? { id: operation.id, kind: operation.kind, owner: operation.owner } : null },
  })
}

const waitLonger = 'Try again, or wait longer: --set locks.timeout_ms=60000'

/** Events of a workspace carry its name as it is when they are written. */
export const nameFields = ({ task, agent }: { task: string; agent: string }) => ({
  task_id: task,
  agent_id: agent,
})

/**
 * Writes the intent: from here on the operation is this process's, and recoverable. With `later` it is known to all, but
 * not yet on the disk: for what makes nothing but new things under ids that only the intent names. `intentFlushed` comes
 * before any of them is made durable.
 */
export async function begin<T extends Extract<WorkspaceEventType, `${string}_started`>>(
  core: Core,
  request: Request,
  at: { id: WorkspaceId; version: number },
  type: T,
  kind: OperationKind,
  data: Omit<EventData[T], 'operation' | 'owner'>,
  /** `also`: what is in the log together with it. */
  { also = [], later = false }: { also?: readonly NewEvent[] | undefined; later?: boolean } = {},
): Promise<{ workspace: Workspace; operation: OperationRef }> {
  const operation: OperationRef = { id: newId(core, 'op'), epoch: 1 }
  const payload = { ...data, operation: kind, owner: core.host.owner() } as unknown as EventData[T]
  const intend = (): Promise<Workspace> =>
    append(core, request, at, [newEvent(core, request, type, payload, operation), ...also], { later })
  try {
    return { workspace: await intend(), operation }
  } catch (error) {
    if (!(await releasesName(core, request, error))) throw error
    return { workspace: await intend(), operation }
  }
}

/** That the intent is on the disk. Whoever gives up before it matters need not wait for it. */
export function intentFlushed(core: Core): Promise<void> {
  const flushed = core.store.flushed()
  flushed.catch(() => undefined)
  return flushed
}

/** A name may be held by an operation that died: then that one is brought to an end, which may set the name free. */
async function releasesName(core: Core, request: Request, error: unknown): Promise<boolean> {
  const { code, data } = toAwError(error)
  if (code !== 'workspace_exists') return false
  const id = data['id'] as WorkspaceId
  const isDead = (held: Workspace | undefined): boolean => held !== undefined && canTakeOver(core, held)
  if (!isDead(await core.store.get(id))) return false
  using lock = await core.host.lock(id, { timeoutMs: 0, signal: request.signal })
  const holder = lock === undefined ? undefined : await core.store.get(id)
  if (lock === undefined || holder === undefined || !isDead(holder)) return false
  const { workspace } = await takeOver(core, request, holder)
  await retireIfPurged(core, lock, id)
  return !isLive(workspace.state) || nameOf(workspace) !== nameOf(holder)
}

/** Appends to a workspace's stream and seals the log when enough has come together. */
export async function append(
  core: Core,
  request: Request,
  at: { id: WorkspaceId; version: number },
  events: readonly NewEvent[],
  options: { later?: boolean } = {},
): Promise<Workspace> {
  try {
    return await appendAt(core, request, at, events, options)
  } catch (error) {
    if (toAwError(error).code !== 'version_conflict') throw error
    return append(core, request, { id: at.id, version: await versionAfter(core, at, error) }, events, options)
  }
}

/** Commands end whenever they end, without a lock. Nothing that was decided meanwhile is another for that. */
async function versionAfter(core: Core, at: { id: WorkspaceId; version: number }, conflict: unknown): Promise<number> {
  let { version } = at
  for await (const event of core.store.read(at.id, { after: at.version })) {
    if (event.type !== 'command_ended') throw conflict
    version = event.version
  }
  return version
}

/** Nothing may have come in between. */
export async function appendAt(
  core: Core,
  request: Request,
  at: { id: WorkspaceId; version: number },
  events: readonly NewEvent[],
  { later }: { later?: boolean } = {},
): Promise<Workspace> {
  const result = await core.store.append(at.id, at.version, events, {
    later,
    limits: limitsOf(core),
    // An outcome must reach the log even if the caller has gone.
    signal: events.every((event) => event.type.endsWith('_started')) ? request.signal : undefined,
  })
  if (result.unsealed >= core.config.settings['log.checkpoint_every']) {
    // A checkpoint that does not come off is written by the next append; it must not fail this one.
    await core.store.seal(core.clock.now().toISOString()).catch(() => undefined)
  }
  if (result.workspace === undefined) throw new AwError('internal', `The stream of ${at.id} has no workspace`)
  if (result.workspace.state === 'purged') purgedHere.add(at.id)
  return result.workspace
}

function limitsOf({ config: { settings } }: Core): AppendLimits {
  const unlessZero = (number: number): number | undefined => (number === 0 ? undefined : number)
  return { maxWorkspaces: unlessZero(settings['workspaces.max_workspaces']), space: spaceLimitsOf(settings) }
}

/** The operation is over without its outcome. */
export async function abandon(
  core: Core,
  request: Request,
  workspace: Workspace,
  operation: OperationRef,
  kind: OperationKind,
  error: unknown,
): Promise<Workspace> {
  const { code, message } = toAwError(error)
  // Under the name it keeps, not the one it would have got.
  const was = (workspace.operation?.intent['was'] ?? workspace) as { task: string; agent: string }
  const data = { ...nameFields(was), operation: kind, code, message }
  const event = newEvent(core, request, 'operation_abandoned', data, operation)
  return append(core, request, workspace, [event])
}

/**
 * Undoes an operation that failed and says so in the log. If even that fails, the operation stays in progress for
 * recovery to end; the caller's own error is the one to tell.
 */
export async function rollBack(
  core: Core,
  request: Request,
  started: { workspace: Workspace; operation: OperationRef },
  kind: OperationKind,
  error: unknown,
  undo: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  try {
    await undo()
    await abandon(core, request, started.workspace, started.operation, kind, error)
  } catch {
    // Recovery will find it.
  }
}

/** Stops between two steps when the caller has gone. */
export function checkpointSignal(request: Request): void {
  if (request.signal?.aborted)
    throw new AwError('aborted', 'The caller cancelled this', { cause: request.signal.reason })
}

/** The log refused us because the operation is no longer ours: nothing on disk is ours to undo either. */
export function isFenced(error: unknown): boolean {
  const { code } = toAwError(error)
  return code === 'workspace_busy' || code === 'version_conflict'
}

/** What the operation in progress set out to do. */
export function intentOf<K extends OperationKind>(workspace: Workspace, kind: K): Intents[K] {
  if (workspace.operation?.kind === kind) return workspace.operation.intent as unknown as Intents[K]
  throw new AwError('internal', `${workspace.id} is not in the middle of ${kind}`)
}
