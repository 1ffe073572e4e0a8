/**
 * Answers to requests that carry an idempotency key, so that the same request is done once however often it is sent. A
 * request is noted before it is done, and its answer afterwards; both survive a crash of whoever does it.
 */
export interface IdempotencyStore {
  /**
   * Notes a request that is about to be done. `key` is the caller's, with the caller in it; `print` tells whether a later
   * request is the same one.
   */
  begin(key: string, note: RequestNote): Promise<BeginResult>
  /** Its answer, to be given again. */
  finish(key: string, answer: StoredAnswer): Promise<void>
  /** Nothing was done: the key is free again. */
  forget(key: string): Promise<void>
  /** Removes what is older. Answers how many. */
  sweep(before: Date): Promise<number>
}

export interface RequestNote {
  readonly print: string
  readonly correlationId: string
}

export type BeginResult =
  | { readonly state: 'new' }
  /** Noted before, and not finished. */
  | { readonly state: 'open'; readonly note: RequestNote }
  | { readonly state: 'done'; readonly note: RequestNote; readonly answer: StoredAnswer }

export interface StoredAnswer {
  readonly status: number
  readonly body: string
  /** The SHA-256 of the bytes that came with the request, which nobody knows before they are read. */
  readonly content?: string
}
