import type { WorkspaceId } from '../domain/ids.ts'

/**
 * What was last measured of the trees of workspaces, so that a small write need not walk a huge tree. It may be late, or
 * lost at any time: only how often is measured depends on it, and how soon it is noticed that others wrote too much.
 */
export interface SizeCache {
  get(id: WorkspaceId): Promise<MeasuredSize | undefined>
  /** Never fails: what cannot be kept is measured again. */
  put(id: WorkspaceId, measured: MeasuredSize): Promise<void>
  /** Absent = done. */
  remove(id: WorkspaceId): Promise<void>
}

export interface MeasuredSize {
  /** Of the tree that was measured: another one has another size. */
  readonly generation: number
  /** What it had beyond what it began as. */
  readonly bytes: number
  /** What it began as, where that was counted; null if it could not be. */
  readonly began?: number | null
  /** What was written through aw since. */
  readonly written: number
  /** When it was measured (milliseconds since 1970), and how long that took. */
  readonly at: number
  readonly took: number
}
