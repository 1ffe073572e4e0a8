interface SkippedPath {
  readonly path: string
  readonly reason: string
}

/** The outcome of copying a source, with the first few of what was left out. */
export interface Imported {
  readonly files: number
  readonly bytes: number
  readonly reflinked: number
  readonly skipped: number
  readonly skipped_paths: readonly SkippedPath[]
  /** What is there with less than an archive says of it: bits, attributes. Likewise the first few. */
  readonly reduced?: number
  readonly reduced_paths?: readonly SkippedPath[]
  /** Agent files of the source that aw could not add to: they are there as they were. */
  readonly untouched_paths?: readonly SkippedPath[]
  /** How many things patterns and .gitignore files kept out. */
  readonly excluded?: number
  /** Of a repository in a folder, made by `git clone --shared`: where objects of it are that it does not have itself. */
  readonly borrows?: readonly string[]
  /** Of a repository in a folder, whose configuration has it work on other files than those beside it: where they are. */
  readonly work_tree?: string
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
