import type { EventId, WorkspaceId } from '../ids.ts'
import type { BaseFacts } from '../sources/bases.ts'
import type { TemplateFacts } from '../sources/templates.ts'
import type { TokenFacts, TokenRevocation } from '../tokens/tokens.ts'
import type { SetupEnded, SetupStarted } from '../sources/template-setup.ts'
import type { WorkspaceEventData } from '../workspace/events.ts'

/** A stream is one workspace, or `home` for facts about the store itself. */
export type StreamId = WorkspaceId | 'home'

/** Facts about the store itself. */
export interface HomeEventData {
  home_created: { format: number; owner_uid: number }
  home_migrated: { from: number; to: number; backup: string }
  /** Unfinished trees in `tmp/` that no operation owns any more were erased. */
  leftovers_removed: { trees: string[] }
  /** A tree of a source is about to be frozen. */
  base_started: { base: string }
  base_created: { base: string } & BaseFacts
  template_saved: { name: string; version: number } & TemplateFacts
  /** Commands are about to run in the tree of a template that is being made. */
  template_setup_started: SetupStarted
  /** They have; nothing of their sandbox is left. */
  template_setup_ended: SetupEnded
  /** One version, or all. */
  template_removed: { name: string; version: number | null }
  /** `tree` is its place among the trees. */
  shared_started: { name: string; tree: string }
  shared_created: { name: string; task: string | null; tree: string }
  /** What it held is in the trash under this name, until that is emptied. */
  shared_removed: { name: string; trash: string }
  shared_purged: { trash: string }
  /** It is, or is about to be, what it was before it was removed, perhaps under another name. */
  shared_undeleted: { trash: string; name: string; task: string | null; tree: string }
  token_created: TokenFacts
  token_revoked: TokenRevocation
  /** `unneeded`: no workspace began as it, and it was not used for long; `lost`: something other than aw removed it. */
  base_removed: { base: string; why: 'user' | 'unneeded' | 'replaced' | 'unfinished' | 'lost' }
}

export type EventData = WorkspaceEventData & HomeEventData
export type EventType = keyof EventData

export interface EventMeta {
  /** Who asked: `user:UID`, `system`, later a token's name. */
  readonly actor: string
  readonly correlation_id: string
  /** The event that led to this one. */
  readonly causation_id: string | null
  /** The operation this event belongs to. A store refuses it once another owner has taken the operation over. */
  readonly operation: { readonly id: string; readonly epoch: number } | null
}

/** What a caller appends. The caller chooses the id: appending it again is harmless. */
export interface NewEvent<T extends EventType = EventType> {
  readonly id: EventId
  /** ISO 8601, UTC, milliseconds. */
  readonly at: string
  readonly type: T
  readonly data: EventData[T]
  readonly meta: EventMeta
}

/** What the log holds. */
export interface StoredEvent<T extends EventType = EventType> extends NewEvent<T> {
  readonly stream: StreamId
  /** 1 for the first event of a stream, then without gaps. */
  readonly version: number
  /** Opaque; later in the log compares greater. Only `follow` and paging take it back. */
  readonly position: number
  /** Version of the payload's shape as it was written. */
  readonly schema: number
  /** Hash of this record and, through it, of all before it in the stream. */
  readonly hash: string
}

/** One of the members of `StoredEvent`, told apart by `type`. */
export type AnyEvent = { [T in EventType]: StoredEvent<T> }[EventType]
