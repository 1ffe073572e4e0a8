import type { Change } from '../domain/trees/diff.ts'
import type { Attachment, Reached } from './attachment.ts'
import type { ContentFolder, ReadOptions } from './tree-contents.ts'
import type { StorageCapabilities } from './storage-capabilities.ts'
import type { ImportOptions, ImportReport, ImportSource } from './tree-import.ts'
import type { Free, GrowthWatch, Usage, UsageOptions } from './usage.ts'

export type { Change } from '../domain/trees/diff.ts'
export type { Attachment, Reached } from './attachment.ts'
export type { ContentFolder, ReadOptions } from './tree-contents.ts'
export type { StorageCapabilities } from './storage-capabilities.ts'
export type { ImportOptions, ImportReport, ImportSource, SkipReason } from './tree-import.ts'
export type { Free, GrowthWatch, Usage, UsageOptions } from './usage.ts'

/**
 * Keeps trees on one mount: the *storage root*. A tree has a place: an *area* and a name in it.
 *
 * - `tmp/<operation id>`: being built; nobody but the operation sees it.
 * - `volumes/<workspace id>`: the writable tree of a workspace.
 * - `snapshots/<snapshot id>`: a frozen tree. It never changes, and only it can be the parent of another tree.
 * - `bases/…`: frozen trees made from sources, for many workspaces.
 * - `trash/<workspace id>.<generation>`: a tree that left its workspace, whole, until it is erased.
 * - `found/<name>.<n>`: what others put where a tree was to be. Only listed and erased; its files are below that path.
 *
 * A tree is built in `tmp`, then *moved*: a rename on one mount, which happens whole or not at all and is durable when
 * the call resolves. Nothing is copied across mounts and nothing is ever replaced: a taken place is `file_exists`. So a
 * crash leaves a tree in exactly one place, and its name says what it was.
 *
 * **Fidelity.** A snapshot, and a tree made from one, equals its origin: names (any bytes), contents, holes, modes with
 * setuid, setgid and sticky, owners, modification times to the nanosecond, links (also dangling), hard links among
 * themselves, extended attributes and ACLs, empty directories, pipes, sockets and devices. What a driver cannot keep it
 * names in `capabilities.unfaithful`. Writable trees never see each other's writes.
 *
 * **Consistency.** `atomic`: the snapshot is the tree as it was at one instant, whoever was writing; either the file
 * system sees to that, or the driver proved that nothing was written meanwhile. `fuzzy`: something was written while it
 * was copied, and the parts may be of different instants. (`frozen` is what a caller makes of it that stopped all
 * writers.) A driver never says more than it can prove.
 *
 * **Paths** below a tree are the bytes of their names, one character each (latin1), with `/` between.
 *
 * The names of places are given by the caller, which has written them to the log first. A driver touches only its root,
 * checks the root's marker before it acts (`storage_unavailable` if the mount is missing), and runs unprivileged unless
 * its capabilities say otherwise. Nobody calls it twice at once for one tree; for different trees everybody may.
 */
export interface StorageDriver extends AsyncDisposable {
  readonly name: string
  readonly capabilities: StorageCapabilities

  /** Tries the real thing in the root. Explains itself; never throws, leaves nothing behind. */
  probe(): Promise<Probe>

  /**
   * Makes a tree: empty, or with `from` a writable one that equals a snapshot (`snapshot_not_found` if there is none).
   * Durable when it resolves, or with `later` when `durable` does; on rejection, or after a crash, nothing is left that
   * `exists` would answer true for, unless it is whole.
   */
  create(place: Place, options?: CreateOptions): Promise<Created>

  /**
   * Copies a tree — a host folder's, or another place's, or one path of it — into a directory of a writable tree (made if
   * missing; `.` is the tree's root): names, bytes, holes, modes, times, links as links, hard links among themselves. Of
   * a folder everything belongs to the owner of that directory; sockets, pipes, devices and mounts are left out and
   * reported, and so is what may not be read; a file of root or another user comes without set-user-id and set-group-id.
   * Another place's tree is copied exactly, with owners when the process may set them, and `source_failed` if a part of
   * it cannot be read; `file_not_found` if it does not have the path. Shares blocks with the source where the file system
   * can.
   */
  import(place: Place, source: ImportSource, options: ImportOptions): Promise<ImportReport>

  /**
   * Freezes a volume into a new place. The volume stays as it is and goes on. Durable when it resolves. With
   * `consistent`, a snapshot that would be fuzzy is `workspace_active` instead, and nothing is made; and so it is where
   * others have mounted something in the volume, if the driver cannot read what that hides.
   */
  snapshot(volume: Place, into: Place, options?: SnapshotOptions): Promise<Frozen>

  /**
   * Makes a volume equal to a snapshot; what it was before becomes the new snapshot `keep`, whole and never fuzzy:
   * `workspace_active` if that cannot be had, with nothing changed. Files of the volume that are open keep showing the
   * old tree, or are changed in place, as `capabilities.restore` says. In place, a writer may be met when some files were
   * changed already: then `keep` is there after the error too, and what follows is as after a crash.
   *
   * After a crash `keep` may be there or not; the caller calls again with the same arguments and `resume`. If the volume
   * had been touched, the restore is finished; if not, whatever was prepared is removed, `keep` included, and the answer
   * is undefined. If the volume had been changed in part, and by others since, the state it is found in becomes the
   * snapshot `resume` first, which need not be of one moment.
   */
  restore(volume: Place, to: Place, keep: Place, options?: RestoreOptions): Promise<Exchanged | undefined>

  /**
   * What differs from one tree to another, ordered by path; either may be of any area. Renames are told where the driver
   * knows them (same file, other name), or where two files that went and came are alone in having a content, as far as
   * that is soon found out. Times alone are no difference, nor is anything about a directory but its mode, owner and
   * attributes. With `exact`, of what is no directory another time of modification, or other names of the same file, is
   * one too. What a mount of others hides and the driver cannot read is no difference, and with `exact` it is
   * `workspace_active`. The cost follows the differences where `capabilities.diff` says so.
   */
  diff(from: Place, to: Place, options?: DiffOptions): AsyncIterable<Change>

  /**
   * A regular file of a tree, also of a frozen one, or with `link` what a link says; anything else is `not_a_file`.
   * `file_too_large` above `maxBytes`; links are not followed. `file_not_found` with the reason `not_kept` for a content
   * that a listed tree does not have, and that is not beside it either.
   */
  read(place: Place, path: string, options: ReadOptions): Promise<Buffer>

  /**
   * Reads a frozen tree whole and compares it with what was recorded when it was made, or first verified. Reports; never
   * repairs, but sees to it that no later snapshot relies on what was found damaged.
   */
  verify(snapshot: Place, options?: { signal?: AbortSignal | undefined }): Promise<Verified>

  /**
   * Renames a writable tree. Resolves when the rename is durable; with `later` when everybody sees it, and after a power cut
   * the tree may be where it was. `workspace_not_found` if there is nothing at `from`.
   */
  move(from: Place, to: Place, options?: { later?: boolean | undefined }): Promise<void>

  /** Makes everything written to a tree so far durable. `small`: the caller knows it to be a handful of files. */
  sync(place: Place, options?: { small?: boolean | undefined }): Promise<void>

  /**
   * Erases a tree, frozen or not, without following links or crossing mounts. Absent = done; safe to repeat after a
   * crash. What other trees share with it stays as long as they need it. Durable when it resolves, but in `tmp`: what
   * comes back there is nobody's.
   */
  erase(place: Place, options?: EraseOptions): Promise<void>

  /** How a sandbox or a file handle reaches a writable tree. Data: does not check that it exists, nor mount it. */
  attachment(place: Place): Attachment

  /** Makes the attachment true: mounts what a reboot took away. Absent = nothing to do. */
  ready(place: Place): Promise<void>

  /**
   * Where this process, and no other, finds a writable tree, until it is disposed of: also one that is otherwise seen in
   * sandboxes alone, and the very tree that a sandbox works in where there is one. `workspace_busy` if another process
   * has it open and does not let go of it. The path may lead through a descriptor: only this process can go it, and where
   * `realpath` says that it leads means nothing.
   */
  reach(place: Place): Promise<Reached>

  exists(place: Place): Promise<boolean>

  /** Paths of a writable tree that no snapshot of it would hold; absent where there are none. See `left_out`. */
  unheld?(place: Place): Promise<readonly string[]>

  /** True if certainly no process uses a tree, where the kernel can be asked for that; false if nobody knows. */
  isIdle?(place: Place): Promise<boolean>

  /** Bytes and files of the tree itself, counted up to a limit. */
  usage(place: Place, options?: UsageOptions): Promise<Usage>

  /** Directories on the host that a writable tree, which began as `base`, grows in; absent or undefined if there are none. */
  growing?(place: Place, base: Place | undefined): Promise<GrowthWatch | undefined>

  /** What is really on disk, in all areas. */
  list(): Promise<Place[]>

  /** Contents that were found not to be what they were, and were put aside; absent where none ever are. */
  readonly damaged?: DamagedContents

  /**
   * Holds a tree to so many bytes more than it has now (less than 0: than that), or to none if null; only where `capabilities.quota` is `kernel`,
   * else `unsupported`. What was written to it and is not durable yet may count as more.
   */
  limit(place: Place, maxBytes: number | null): Promise<void>

  /** Bytes by which the kernel still lets a tree grow, less than 0 if it has too many; null if it holds it to none. */
  room(place: Place): Promise<number | null>

  /** What the mount still has room for. */
  free(): Promise<Free>
}

export interface DamagedContents {
  list(): Promise<readonly { readonly name: string; readonly bytes: number; readonly at: Date }[]>
  /** Absent = done. */
  erase(name: string): Promise<void>
}

export type Area = 'volumes' | 'trash' | 'tmp' | 'snapshots' | 'bases' | 'found'

export interface Place {
  readonly area: Area
  readonly name: string
}

export type Probe =
  | { readonly usable: true; readonly notes: readonly string[] }
  | { readonly usable: false; readonly reasons: readonly string[]; readonly hint?: string | undefined }

/** Of what makes something new. */
export interface WriteOrdering {
  /** What must be on the disk before anything of it is. */
  readonly after?: Promise<unknown> | undefined
}

export interface CreateOptions extends WriteOrdering {
  /** Of the root directory of an empty tree. */
  readonly mode?: number | undefined
  readonly from?: Place | undefined
  /** Where to find what `from`, if it is only listed, does not have itself. */
  readonly beside?: ContentFolder | undefined
  /** Told each file of such a tree whose content is not to be had, and that is not made; without it, that is an error. */
  readonly onMissing?: ((path: string) => void) | undefined
  /** It is never frozen (`unsupported`), so that it has a path on the host everywhere, and any number of sandboxes. */
  readonly plain?: boolean | undefined
  /** What the tree may hold beyond its parent; only where `capabilities.quota` is `kernel`, else `unsupported`. */
  readonly maxBytes?: number | undefined
  /** Resolves when the tree is whole and can be worked in, which may be before it is durable. */
  readonly later?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: OnProgress | undefined
}

export interface Created {
  /** Pending only with `later`: whoever asks for that has to wait for it, or undo what was made. */
  readonly durable: Promise<void>
}

export type OnProgress = (done: { files: number; bytes: number }) => void

/** Names directly below the root that are none of the tree's content, as aw's own metadata directory. */
interface ExcludeOptions {
  readonly exclude?: readonly string[] | undefined
  readonly signal?: AbortSignal | undefined
}

export interface SnapshotOptions extends ExcludeOptions, WriteOrdering {
  readonly consistent?: boolean | undefined
  /**
   * It is enough to know what the tree was: a driver that would have to copy contents need not keep them, if it can tell
   * later from each what it is.
   */
  readonly listed?: boolean | undefined
  /** Paths that are about to be replaced: `unsupported`, and nothing made, if the snapshot cannot hold all below them. */
  readonly whole?: readonly string[] | undefined
  /** The snapshot that the volume was last equal to: a hint of what need not be looked at, and what `changed` counts from. */
  readonly since?: Place | undefined
  readonly onProgress?: OnProgress | undefined
}

export interface RestoreOptions extends ExcludeOptions {
  /** What the volume may hold beyond the snapshot from then on; as in `create`. */
  readonly maxBytes?: number | undefined
  /** Finish what a crash interrupted; see `restore`. */
  readonly resume?: Place | undefined
  readonly since?: Place | undefined
  readonly onProgress?: OnProgress | undefined
}

export interface DiffOptions extends ExcludeOptions {
  /** Who asks has no use for more: it may end when so many paths are known to differ, with a rename told as two. */
  readonly enough?: number | undefined
  /** Who asks takes one tree for the other if they do not differ; see `diff`. */
  readonly exact?: boolean | undefined
  /** False: to who asks a rename is two, one that went and one that came, and need not be found out. */
  readonly renames?: boolean | undefined
}

export interface EraseOptions {
  readonly signal?: AbortSignal | undefined
  /** Another one of the area is erased right after it: what can be done once for all, durability too, waits for that. */
  readonly more?: boolean | undefined
}

export interface Frozen {
  /** How it was made, in a word or two, for the log. */
  readonly mechanism: string
  readonly consistency: 'atomic' | 'fuzzy'
  /** How many paths differ from `since`, a renamed one being two, where that is known without looking at the whole tree. */
  readonly changed: number | null
  /** Paths that could not be in it; see `capabilities.unfaithful`. */
  readonly left_out?: readonly string[] | undefined
}

/** How `keep` was made; and how `resume` was, if it is there. */
export interface Exchanged extends Frozen {
  readonly resumed?: Frozen | undefined
}

export interface Verified {
  /** `hashes` of our own, the file system's `checksums`, or `none`: nothing was recorded yet that could be compared. */
  readonly method: 'hashes' | 'checksums' | 'none'
  readonly files: number
  readonly bytes: number
  readonly problems: readonly { readonly path: string; readonly message: string }[]
}
