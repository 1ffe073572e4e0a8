/**
 * Keeps trees on one mount: the *storage root*. A tree has a place: an *area* and a name in it.
 *
 * - `tmp/<operation id>`: being built; nobody but the operation sees it.
 * - `volumes/<workspace id>`: the writable tree of a workspace.
 * - `trash/<workspace id>.<generation>`: a tree that left its workspace, whole, until it is erased.
 *
 * (`snapshots/` and `bases/` hold frozen trees; the names are reserved.)
 *
 * A tree is built in `tmp`, then *moved*: a rename on one mount, which happens whole or not at all and is durable when
 * the call resolves. Nothing is copied across mounts and nothing is ever replaced: a taken place is `file_exists`. So a
 * crash leaves a tree in exactly one place, and its name says what it was.
 *
 * The names are given by the caller, which has written them to the log first. A driver touches only the five areas of
 * its root, checks the root's marker before it acts (`storage_unavailable` if the mount is missing), and runs
 * unprivileged unless its capabilities say otherwise.
 */
export interface StorageDriver extends AsyncDisposable {
  readonly name: string
  readonly capabilities: StorageCapabilities

  /** Tries the real thing in the root. Explains itself; never throws, leaves nothing behind. */
  probe(): Promise<Probe>

  /** Makes an empty tree. On rejection nothing is left behind. */
  create(place: Place, options?: { mode?: number; signal?: AbortSignal | undefined }): Promise<void>

  /**
   * Copies a tree — a host folder's, or another place's — into a directory of a tree in `tmp` (made if missing; `.` is
   * the tree's root): names, bytes, holes, modes, times, links as links, hard links among themselves; owners when the
   * process may set them. Sockets, pipes, devices and mounts are left out and reported. Of a folder, so is what may not be
   * read, and a file of root or another user comes without set-user-id and set-group-id; another place's tree is copied
   * exactly, and `source_failed` if a part of it cannot be read. Shares blocks with the source where the file system can.
   */
  import(place: Place, source: ImportSource, options: ImportOptions): Promise<ImportReport>

  /** Renames a tree. Resolves when the rename is durable. `workspace_not_found` if there is nothing at `from`. */
  move(from: Place, to: Place): Promise<void>

  /** Makes everything written to a tree so far durable. `small`: the caller knows it to be a handful of files. */
  sync(place: Place, options?: { small?: boolean | undefined }): Promise<void>

  /** Erases a tree, without following links or crossing mounts. Absent = done; safe to repeat after a crash. */
  erase(place: Place, options?: { signal?: AbortSignal | undefined }): Promise<void>

  /** How a sandbox or a file handle reaches the tree. Does not check that it exists. */
  attachment(place: Place): Attachment

  exists(place: Place): Promise<boolean>

  /** Bytes and files of the tree itself, counted up to a limit. */
  usage(place: Place, options?: { maxFiles?: number | undefined }): Promise<Usage>

  /** What is really on disk, in all areas. */
  list(): Promise<Place[]>

  /** Bytes that can still be written to the mount. */
  free(): Promise<{ bytes: number }>
}

export type Area = 'volumes' | 'trash' | 'tmp' | 'snapshots' | 'bases'

export interface Place {
  readonly area: Area
  readonly name: string
}

/** What must be mounted or opened to see a tree. Data, not an action. */
export type Attachment = { readonly kind: 'dir'; readonly path: string }

export interface StorageCapabilities {
  /** Where a tree can be seen: by every process of the host, or only inside a sandbox. */
  readonly visibility: 'host' | 'sandbox'
  /** Whether copies share blocks; `probed` = depends on the file system, `probe` tells. */
  readonly reflink: 'always' | 'probed' | 'never'
  readonly needsRoot: boolean
}

export type Probe =
  | { readonly usable: true; readonly notes: readonly string[] }
  | { readonly usable: false; readonly reasons: readonly string[] }

export type ImportSource = { readonly folder: string } | { readonly place: Place }

export interface ImportOptions {
  readonly into: string
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: { files: number; bytes: number }) => void) | undefined
}

export interface ImportReport {
  readonly files: number
  readonly bytes: number
  readonly reflinked: number
  /** Paths that were left out, relative to the folder, with the reason. */
  readonly skipped: readonly { path: string; reason: SkipReason }[]
}

/** `guarded`: a file or directory of aw's own, met under another name. */
export type SkipReason = 'socket' | 'fifo' | 'device' | 'mount' | 'unreadable' | 'guarded'

export interface Usage {
  readonly bytes: number
  readonly files: number
  /** False if counting stopped at the limit: the tree is at least that large. */
  readonly complete: boolean
}
