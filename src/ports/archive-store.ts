/**
 * Archives that aw makes by itself: of workspaces that expired, before they are erased. Each is a file that the log
 * names by its path; nothing else in its directory is ever touched.
 */
export interface ArchiveStore {
  /** Where an archive of this name would be. */
  pathOf(name: string): string

  /**
   * Makes the directory of the archives if it is missing, but nothing above it: that may be the mount point of a disk that
   * is not there. With `used`, archives were written to it before, and it is not made anew: `file_not_found`.
   */
  prepare(options: { readonly used: boolean }): Promise<void>

  /** Whether something is at a path, whatever it is. */
  has(path: string): Promise<boolean>

  /**
   * Packs a directory that only we can reach into a new file of a directory that is prepared, reads the file whole and compares it with what was packed;
   * then it gets its name, durably. `file_exists` if something has it. If it fails, nothing is left.
   */
  pack(directory: string, path: string, options: StoreArchiveOptions): Promise<StoredArchive>

  /** Removes what a `pack` of this stage left or made, whose caller died. Safe to repeat. */
  undo(path: string, stage: string): Promise<void>

  /**
   * Removes an archive if it is still the file that was made. `changed`: something else has its name now; `unreachable`:
   * its directory is not there, as when a disk is not mounted.
   */
  remove(path: string, made: StoredArchive): Promise<'removed' | 'absent' | 'changed' | 'unreachable'>
}

export interface StoreArchiveOptions {
  /** A name that nobody else uses, which the log has: what is not complete yet is under it. */
  readonly stage: string
  /** What is said about the tree in the file. */
  readonly about: Readonly<Record<string, unknown>>
  /** Names at the top of the tree that are left out. */
  readonly exclude?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: { files: number; bytes: number }) => void) | undefined
}

export interface StoredArchive {
  readonly bytes: number
  /** Of the bytes of the file. */
  readonly digest: string
}
