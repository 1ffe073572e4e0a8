import type { Exit } from '../domain/sandbox/spec.ts'
import type { CommandId, RunId } from '../domain/ids.ts'

/** A run, or a command of a set-up. */
export type LogId = RunId | CommandId

/**
 * What kept commands write and how they end, outside the reach of what runs. Each has a directory; the supervisor of its
 * sandbox writes there, whoever else is alive. A log has a limit: of one that grew beyond it the oldest is gone, and its
 * first item says how much.
 */
export interface KeptLogs {
  /** The directory of a run, made if need be: for `Sandbox.keep`. */
  place(run: LogId): Promise<string>
  /**
   * The log from a position on, oldest first. With `follow` it goes on until the run's end is known, or `isOver` says that
   * nobody will write any more.
   */
  read(run: LogId, options?: ReadOptions): AsyncIterable<LogItem>
  /** How it ended; undefined as long as it has not, or if nobody saw its end. */
  end(run: LogId): Promise<KeptEnd | undefined>
  /** Absent = done. */
  remove(run: LogId): Promise<void>
}

export interface ReadOptions {
  /** Where to begin: 0, or the `next` of an item. */
  readonly from?: number | undefined
  /** Only the last so many bytes, or a little more. */
  readonly last?: number | undefined
  readonly follow?: { readonly isOver: () => Promise<boolean> } | undefined
  readonly signal?: AbortSignal | undefined
}

export interface LogItem {
  /** `lost`: so many bytes are not there, for want of space or as the log grew too long. */
  readonly stream: 'stdout' | 'stderr' | 'lost'
  readonly data: Uint8Array
  readonly lost?: number | undefined
  readonly at: Date | undefined
  /** Where the next item begins. */
  readonly next: number
}

/** `errno`: it could not be started. */
export interface KeptEnd {
  readonly exit: Exit | null
  readonly errno: number | null
  /** So much of what it wrote last is not in its log. */
  readonly lost: number
  readonly at: Date
}
