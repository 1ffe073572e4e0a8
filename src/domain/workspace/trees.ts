/** The outcome of copying a source, with the first few of what was left out. */
export interface Imported {
  readonly files: number
  readonly bytes: number
  readonly reflinked: number
  readonly skipped: number
  readonly skipped_paths: readonly { readonly path: string; readonly reason: string }[]
  /** How many things patterns and .gitignore files kept out. */
  readonly excluded?: number
}

/** A tree in the trash. */
export interface TrashedTree {
  /** Its directory in `trash/`: `<workspace id>.<generation>`. */
  readonly tree: string
  readonly generation: number
  readonly reason: CleanupReason | 'reset' | 'found'
  readonly at: string
}

export type CleanupReason = 'agent_completed' | 'pod_shutdown' | 'user' | 'retention' | 'failed_create'

/** A file that was made of a tree before gc erased it. */
export interface ArchivedTree {
  readonly tree: string
  /** Absolute, as it was then. */
  readonly path: string
  /** Of the bytes of the file. */
  readonly digest: string
  readonly bytes: number
  readonly at: string
}
