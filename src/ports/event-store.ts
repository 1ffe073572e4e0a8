import type { AnyEvent, EventType, NewEvent, StreamId } from '../domain/log/event.ts'
import type { LeaseId, RunId, SnapshotId, WorkspaceId } from '../domain/ids.ts'
import type { SpaceLimits } from '../domain/space/limits.ts'
import type { Workspace, WorkspaceStateName } from '../domain/workspace/state.ts'

/**
 * The log: the only source of truth. Nothing in it is ever changed or removed.
 *
 * **Words.** A *stream* is one workspace's history (or `home`, the store's own). Its events are numbered from 1 without
 * gaps: the *version*. All events of all streams have one order: the *position*, opaque to callers. The *read model* is
 * the fold of each stream by `domain/workspace/evolve`, plus leases; it answers questions without reading history, and
 * it is updated inside the transaction that appends, so it is never behind and never ahead.
 *
 * **Appending.** All events of one call are stored or none. The call resolves only when they would survive a power cut;
 * with `later` when everybody sees them, and `flushed` tells the rest. What comes later survives only with what came before.
 * The same event id with the same stream, type, data and meta is answered with the first result (a retry is harmless);
 * with other content it is `event_conflict`. In one call, either all events are new or all are repeats.
 *
 * **What the transaction checks** before anything is stored:
 * - the stream is at the expected version, else `version_conflict` (data: `{ stream, expected, actual }`);
 * - an event whose `meta.operation` names an operation that is not the stream's current one at that epoch, and that is
 *   not itself an intent (`*_started`, which must find no operation in progress), is refused with `workspace_busy`: its
 *   writer was fenced off (data: `{ workspace, operation: the current one or null }`). `operation_taken` must carry the
 *   current operation's id and the current epoch plus one, in both `meta.operation` and its data;
 * - a live name is unique, else `workspace_exists` (data: `{ name, id }` of the holder);
 * - `limits.maxWorkspaces` live workspaces at the most, when the append makes one live, else `limit_reached` (data:
 *   `{ limit, count }`);
 * - what live workspaces may grow to together stays within `limits.space` when the append makes one live, or gives it a
 *   label that has a limit, else `limit_reached` (data: `{ what, of, limit, reserved, asked }`, in MB);
 * - the payload of an intent or of labels is 64 KiB at the most, else `invalid_input`. An outcome is never refused for
 *   its size.
 *
 * **The chain.** Each record's hash covers its stored bytes and the hash before it in its stream. A *checkpoint* seals
 * the heads of all streams; `seal` writes one and returns it so that its hash can be kept elsewhere.
 *
 * Every method may wait for other processes; every wait ends with the given signal (`aborted`) or after the store's own
 * patience with those that hold it and write nothing (`log_busy`). Several processes use one store at once.
 */
export interface EventStore extends AsyncDisposable {
  readonly name: string

  append(
    stream: StreamId,
    expected: number,
    events: readonly NewEvent[],
    options?: AppendOptions,
  ): Promise<AppendResult>

  /** Resolves when all that was appended before would survive a power cut. */
  flushed(): Promise<void>

  /** The events of a stream after a version, of some types or all, oldest first. An unwritten stream is empty. */
  read(stream: StreamId, options?: { after?: number; types?: readonly EventType[] }): AsyncIterable<AnyEvent>

  /**
   * The whole log in order from a position (exclusive; from the beginning without one). Without `live` it ends at what
   * is stored now; with it, it goes on with what any process appends, never skipping one, until the signal fires, and
   * then ends without an error.
   */
  follow(options?: FollowOptions): AsyncIterable<AnyEvent>

  /** The end of the log now: following after it gives only what is appended later. */
  position(): Promise<number>
  /** The version of the last event of a stream, 0 for an unwritten one: cheap to ask whether it has grown. */
  version(stream: StreamId): Promise<number>

  /** One workspace by its id, in whatever state. */
  get(id: WorkspaceId): Promise<Workspace | undefined>
  /** The live workspace with this name. */
  find(task: string, agent: string): Promise<Workspace | undefined>
  /** The workspace that a run was asked for in, in whatever state, however many came after it. */
  ofRun(run: RunId): Promise<Workspace | undefined>
  /** By filter, ordered by id (age); `after` is the last id of the page before. */
  list(filter?: WorkspaceFilter): Promise<Workspace[]>

  /**
   * Takes the one lease of a resource, unless another holder has it and it has not expired (then the holder's lease is
   * returned with `acquired: false`). A holder may take its own lease again, which renews it under the same id. With
   * `idleSince` also the lease of another is taken, under a new id, if that one was not active after this instant;
   * `previous` is then what is void now.
   *
   * A lease is no event: whoever tells the log of it does so afterwards. A crash in between leaves a lease that the log
   * does not know, which expires by itself, or one that was given back and that the log says lasts until it expires. The
   * lease of a workspace goes in the append that takes the workspace from its name.
   */
  acquireLease(resource: string, request: LeaseRequest): Promise<LeaseAnswer>
  /** Extends a lease that is still held; `undefined` if it was lost or has expired. */
  renewLease(resource: string, id: LeaseId, now: string, expiresAt: string): Promise<Lease | undefined>
  /** Its holder was active now; `undefined` as with renewing. */
  touchLease(resource: string, id: LeaseId, now: string): Promise<Lease | undefined>
  /** Nobody counts as active any more until they are again: after a restart nobody can be asked. */
  restLeases(): Promise<void>
  /** Absent = done. */
  releaseLease(resource: string, id: LeaseId): Promise<boolean>
  /** Also an expired one: the caller compares with its own clock. */
  lease(resource: string): Promise<Lease | undefined>

  /** The latest time that was noted, or that events (to a minute) and checkpoints tell; empty if there is none. ISO 8601. */
  latest(): Promise<string>
  /** Notes that it has been this late, durably. An earlier time than was noted before changes nothing. */
  passed(at: string): Promise<void>

  /** Seals all stream heads into a checkpoint and writes the anchor; `undefined` if nothing came since the last one. */
  seal(at: string): Promise<Checkpoint | undefined>
  /** Recomputes everything from the stored bytes. Reports; never throws for damage, never repairs. */
  verify(options?: { signal?: AbortSignal }): Promise<Verification>
  /** Makes the read model anew from the events; tells how many workspaces differed. */
  rebuild(): Promise<{ workspaces: number; changed: WorkspaceId[] }>
}

export interface AppendOptions {
  readonly limits?: AppendLimits
  readonly signal?: AbortSignal | undefined
  readonly later?: boolean | undefined
}

export interface AppendLimits {
  readonly maxWorkspaces?: number | undefined
  readonly space?: SpaceLimits | undefined
}

export interface AppendResult {
  readonly events: readonly AnyEvent[]
  /** The fold after the append; `undefined` for the `home` stream. */
  readonly workspace: Workspace | undefined
  /** Events since the last checkpoint, so that the caller can decide to seal. */
  readonly unsealed: number
}

export interface FollowOptions {
  readonly after?: number | undefined
  /** Of those that are stored now, only the last so many. */
  readonly last?: number | undefined
  readonly live?: AbortSignal | undefined
  readonly task?: string | undefined
  readonly agent?: string | undefined
  readonly stream?: StreamId | undefined
  readonly types?: readonly EventType[] | undefined
  /** Only events with this `meta.correlation_id`: those of one request. */
  readonly correlation?: string | undefined
}

export interface WorkspaceFilter {
  readonly task?: string | undefined
  readonly agent?: string | undefined
  readonly states?: readonly WorkspaceStateName[] | undefined
  readonly labels?: Readonly<Record<string, string>> | undefined
  /** Created before this instant (ISO 8601). */
  readonly createdBefore?: string | undefined
  readonly createdAfter?: string | undefined
  /** Only those with an operation in progress. */
  readonly inOperation?: boolean | undefined
  /** Only forks of this workspace. */
  readonly forkOf?: WorkspaceId | undefined
  /** Only forks of this snapshot. */
  readonly base?: SnapshotId | undefined
  /** Only those that began as this base. */
  readonly baseName?: string | undefined
  /** Only those with trees in the trash. */
  readonly withTrash?: boolean | undefined
  readonly after?: WorkspaceId | undefined
  readonly limit?: number | undefined
}

export interface LeaseRequest {
  readonly id: LeaseId
  readonly holder: string
  readonly now: string
  readonly expiresAt: string
  /** The lease of another that was last active at this instant or before is taken over. */
  readonly idleSince?: string | undefined
}

export interface LeaseAnswer {
  readonly acquired: boolean
  /** What is in force now: the caller's, or the other one's. */
  readonly lease: Lease
  /** The other one's that was taken over. */
  readonly previous?: Lease
}

export interface Lease {
  readonly id: LeaseId
  readonly resource: string
  readonly holder: string
  readonly acquired_at: string
  readonly expires_at: string
  /** When its holder last took it, renewed it or used it. */
  readonly active_at: string
}

export interface Checkpoint {
  readonly number: number
  readonly at: string
  /** The last position it covers, and how many events that are. */
  readonly position: number
  readonly events: number
  /** Hash over the heads of all streams and the checkpoint before it. */
  readonly hash: string
}

export interface Verification {
  readonly intact: boolean
  readonly events: number
  readonly streams: number
  /** The last checkpoint that verifies, if any. */
  readonly checkpoint: Checkpoint | null
  /** Records after it: chained, but sealed by nothing yet. */
  readonly unsealed: number
  /** `checked` if the anchor file agrees with the checkpoints; `missing` if there is none though there should be. */
  readonly anchor: 'checked' | 'missing' | 'none'
  readonly problems: readonly VerificationProblem[]
}

export interface VerificationProblem {
  readonly kind:
    | 'record_changed'
    | 'record_missing'
    | 'record_unreadable'
    | 'head_mismatch'
    | 'checkpoint_mismatch'
    | 'anchor_mismatch'
    | 'read_model_mismatch'
  readonly stream: string | null
  readonly version: number | null
  readonly message: string
}
