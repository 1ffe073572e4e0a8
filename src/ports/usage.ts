import type { Place } from './storage-driver.ts'

/** What trees take up, and what is left for them. */

export interface UsageOptions {
  readonly maxFiles?: number | undefined
  /** Also tell how much is the tree's alone. */
  readonly own?: boolean | undefined
  /** Also tell how much it has beyond this frozen tree, which it began as. */
  readonly beyond?: Place | undefined
}

export interface Usage {
  readonly bytes: number
  readonly files: number
  /** False if counting stopped at the limit: the tree is at least that large. */
  readonly complete: boolean
  /** Bytes that erasing the tree would give back; only with `own`, null if that cannot be told. */
  readonly own?: number | null
  /**
   * Those, and an equal part of what it shares with other frozen trees: of all of them together, all that they take up.
   * Only with `own`, and where they share with nothing else.
   */
  readonly portion?: number
  /** Only with `beyond`; null if that takes a comparison of the two. */
  readonly beyond?: number | null
}

/** Where a tree grows, for whoever measures it again and again. */
export interface GrowthWatch {
  readonly paths: readonly string[]
  /** Whether they hold what the tree began as, too. */
  readonly whole: boolean
  /** What they hold now, where they show only what the tree has grown by since. */
  readonly since?: number | undefined
}

export interface Free {
  /** Bytes that can still be written. */
  readonly bytes: number
  /** Those together with what is taken. */
  readonly total: number
  /** Files and directories that can still be made, and how many there can be; null if no number is set. */
  readonly files: { readonly free: number; readonly total: number } | null
}
