/**
 * How much one answer, one message and one caller may take. What an agent reads costs it a part of its context, so
 * answers are far smaller than what the other doors give; each says what was left out and how to get it.
 */
export const limits = {
  /** Of what a command wrote, for each of its two streams: its beginning and, mostly, its end. */
  outputHeadBytes: 8 * 1024,
  outputTailBytes: 24 * 1024,
  /** Of a file, if nothing is said; and at most. */
  readBytes: 32 * 1024,
  mostReadBytes: 256 * 1024,
  /** Of all patches in one answer. */
  patchBytes: 48 * 1024,
  /** Items of a list in one answer, if nothing is said; and at most. */
  items: 100,
  mostItems: 1000,
  /** How long `get_run` may wait. */
  mostWaitMs: 10 * 60 * 1000,
  /** One message of JSON-RPC. */
  messageBytes: 8 * 1024 * 1024,
  /** Messages in one request: each counts as a request of its own. */
  batch: 16,
  /** Between two notifications of progress of one call. */
  progressMs: 200,
  /** The text of one. */
  progressCharacters: 200,
} as const
