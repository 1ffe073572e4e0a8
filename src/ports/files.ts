import type { Absolute } from '../domain/paths.ts'

/**
 * Everything that is done below a workspace's root goes through this port, from every door. Names are resolved by the
 * kernel against a handle on the root: no string comparison and no `realpath` decides access, so a link swapped in the
 * middle of a call changes nothing.
 *
 * A *path* is relative to the root (`''` or `.` is the root itself, where that makes sense). `a/../b` is fine; a path
 * that climbs out is `path_traversal_attempt`. Links that stay inside are followed; one that leaves is
 * `symlink_outside_workspace` and is shown with `escapes: true`. An absolute path is treated as `absolute`
 * says: `reject`, `inside` (the default: accepted if it lies under the root's own path or under `publicRoot`, else
 * `path_outside_workspace`), `rebase` (taken as relative to the root; the answer says `rebased`) or `virtual` (the same,
 * and a backslash separates names as a slash does).
 *
 * Only regular files are read and written; a fifo, socket or device is `not_a_file`, and opening one never blocks.
 * Mount points below the root are not crossed (`path_outside_workspace`). Names that alias a protected one (letter case,
 * Unicode form, links, ignorable characters) cannot be written, replaced, renamed or removed: `path_protected`.
 *
 * A handle is bound to one tree. After the tree was replaced (reset, restore) it must be opened again.
 */
export interface FileHandle extends Disposable {
  read(path: string, options?: ReadOptions): Buffer
  /** Writes a temporary file and renames it over the target: whole or not at all. Keeps mode, owner, xattrs, ACL. */
  write(path: string, content: Uint8Array | string, options?: WriteOptions): FileInfo
  append(path: string, content: Uint8Array | string, options?: WriteOptions): FileInfo
  /**
   * Puts files into a directory at the top of a tree that nobody else has seen yet, in place: each step is small, and
   * what is interrupted is half done. Nothing is followed, and nothing written to that has another name as well. Answers
   * those that something is in the way of.
   */
  fill(
    directory: string,
    files: readonly (readonly [name: string, content: string])[],
    mode: number,
  ): readonly (readonly [name: string, content: string])[]
  /** Opens a file to be read piece by piece: all of them are of that file, whatever takes its place meanwhile. */
  open(path: string, options?: PathOptions): FileReader
  /** As `write`, with content that comes piece by piece. Nothing is to be seen of it, not even parents, until `finish`. */
  create(path: string, options?: WriteOptions): FileWriter
  /** One directory, ordered by name (bytes), links not followed. */
  list(path: string, options?: ListOptions): ListPage
  /** Everything below a directory, in one flat ordered list; `nest` turns it into nested maps. */
  tree(path: string, options?: TreeOptions): TreeResult
  /** Follows links that stay inside; with `follow` false not one at the end, unless a slash is behind it. */
  stat(path: string, options?: PathOptions & { follow?: boolean }): FileInfo
  /** `parents` makes missing parents and accepts an existing directory. */
  mkdir(path: string, options?: PathOptions & { parents?: boolean; mode?: number }): FileInfo
  /** Never replaces a directory; replaces a file only with `replace`. */
  rename(
    from: string,
    to: string,
    options?: PathOptions & UnlockOptions & { replace?: boolean; parents?: boolean },
  ): FileInfo
  /** A file, or with `recursive` a directory. Links are copied as links. */
  copy(
    from: string,
    to: string,
    options?: PathOptions & { replace?: boolean; recursive?: boolean; parents?: boolean },
  ): FileInfo
  /** Absent is `file_not_found`, unless `missing` is `ignore`. A directory that is not empty needs `recursive`. */
  remove(
    path: string,
    options?: PathOptions & UnlockOptions & { recursive?: boolean; missing?: 'error' | 'ignore' },
  ): { removed: boolean }
  /** Where a path leads: the path below the root that the kernel arrived at. `follow` as for `stat`. */
  resolve(path: string, options?: PathOptions & { follow?: boolean }): ResolvedPath
}

/** An open file. It needs the handle no more. */
export interface FileReader extends Disposable {
  /** When it was opened. */
  readonly size: number
  readonly mtime: string
  /** So many bytes from there; fewer only where the file ends. */
  read(offset: number, length: number): Promise<Buffer>
}

/** A file that is being made. Disposed of before it is finished, it is gone. */
export interface FileWriter extends Disposable {
  /** Bytes so far. */
  readonly size: number
  write(bytes: Uint8Array): Promise<void>
  /** Puts it in its place. The path is followed anew, and what is there now is replaced. Needs the handle. */
  finish(): FileInfo
}

export interface PathOptions {
  readonly absolute?: Absolute | undefined
}

export interface UnlockOptions {
  /** A directory of ours that forbids it is made writable for the moment. */
  readonly unlock?: boolean | undefined
}

export interface ReadOptions extends PathOptions {
  /** `file_too_large` above this. */
  readonly maxBytes?: number | undefined
  readonly offset?: number | undefined
  readonly length?: number | undefined
}

export interface WriteOptions extends PathOptions {
  readonly mode?: number | undefined
  /** Makes missing parent directories. Default true. */
  readonly parents?: boolean | undefined
  /** `error` answers `file_exists` instead of replacing. */
  readonly existing?: 'replace' | 'error' | undefined
  /** Resolves only when the bytes would survive a power cut. */
  readonly durable?: boolean | undefined
}

export type FileKind = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'block' | 'char'

export interface FileInfo {
  readonly path: string
  readonly kind: FileKind
  readonly size: number
  readonly mode: number
  readonly mtime: string
  readonly links: number
  readonly uid: number
  readonly gid: number
  /** For a symlink: what it says. */
  readonly target?: string
  /** For a symlink: it leads out of the workspace. One that goes in a circle, or leads to nothing inside, does not. */
  readonly escapes?: boolean
  /** The path was absolute and was taken as relative to the root. */
  readonly rebased?: boolean
}

export interface ListOptions extends PathOptions {
  readonly limit?: number | undefined
  /** The last name of the page before. */
  readonly after?: string | undefined
}

export interface ListPage {
  readonly entries: readonly FileInfo[]
  /** Give it as `after` for the next page; null at the end. */
  readonly next: string | null
}

export interface TreeOptions extends PathOptions {
  readonly maxEntries?: number | undefined
  readonly maxDepth?: number | undefined
}

export interface TreeResult {
  /** Paths relative to the directory asked for; a directory before what is in it. */
  readonly entries: readonly TreeEntry[]
  /** True if a limit cut the listing. */
  readonly truncated: boolean
  /** Directories that could not be read. */
  readonly unreadable: readonly string[]
}

export interface TreeEntry {
  readonly path: string
  readonly kind: FileKind
}

export interface ResolvedPath {
  /** Below the root, without `.`, `..` or links, but for one at the end that is not followed. */
  readonly path: string
  readonly exists: boolean
  readonly rebased: boolean
}

/** Opens handles on trees. */
export interface Files {
  /** The way to the root may lead through links. One in its place is `path_outside_workspace`. */
  open(root: string, options?: RootOptions): FileHandle
}

export interface RootOptions {
  /** Names directly below the root that no call may change. */
  readonly protect?: readonly string[] | undefined
  /** Paths below the root, as `work/.git/hooks`: what is there now, and below it, no call changes. */
  readonly hold?: readonly string[] | undefined
  /** Absolute paths that mean the root too: how users find it, and what it is to those inside. */
  readonly publicRoot?: string | readonly string[] | undefined
  readonly resolver?: 'auto' | 'openat2' | 'walk' | undefined
  readonly fileMode?: number | undefined
  readonly dirMode?: number | undefined
}
