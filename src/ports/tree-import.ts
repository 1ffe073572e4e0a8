import type { OnProgress, Place } from './storage-driver.ts'
import type { ContentFolder } from './tree-contents.ts'

/** What is brought into a tree from elsewhere. */

export type ImportSource = { readonly folder: string } | { readonly place: Place; readonly path?: string | undefined }

export interface ImportOptions {
  readonly into: string
  /** Of a folder: patterns as in a .gitignore at its top. */
  readonly exclude?: readonly string[] | undefined
  /** Of a folder: what git ignores there is copied too (the default), only if its .worktreeinclude lists it, or not. */
  readonly ignored?: 'all' | 'listed' | 'none' | undefined
  /**
   * Of a folder: remembers what it is now, under the name of the base that the tree is to become (small letters, digits,
   * dashes; `file_exists` if there is such a base). With `since`, the base that the tree began as and whose `into` was
   * imported like this and not touched: only what differs from then is copied, and what is gone is removed; the outcome
   * is that of a whole import, and it is one where nothing (trustworthy) is remembered. If nothing has changed, nothing
   * new is remembered: the tree is still that base. What is remembered goes when the base is erased.
   */
  readonly index?: { readonly name: string; readonly since?: string | undefined } | undefined
  /** Of a place that is only listed: where to find what it does not have itself. */
  readonly beside?: ContentFolder | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: OnProgress | undefined
}

export interface ImportReport {
  /** With `bytes`: what the source has, whether it had to be copied or not. */
  readonly files: number
  readonly bytes: number
  readonly reflinked: number
  /** The source was one file (or link, or pipe) and not a directory: it is below `into`, under its own name. */
  readonly single?: boolean | undefined
  /** Paths that were left out, relative to the folder, with the reason. */
  readonly skipped: readonly { path: string; reason: SkipReason }[]
  /**
   * Of a path of a place: files of it that have other names in their tree, which were not copied: the copies are files of
   * their own. By their paths there; absent if there are none.
   */
  readonly apart?: readonly string[] | undefined
  /** How many things `exclude` and `ignored` left out; what is below a directory that was is not counted. */
  readonly excluded?: number | undefined
  /** With `index.since`: how many things differ from then, or may; undefined if all was copied. 0: none does. */
  readonly changed?: number | undefined
}

/**
 * `guarded`: a file or directory of aw's own, met under another name. `foreign_git`: a `.git` of a user's folder that is
 * a file or a link and leads to a repository outside of the folder: what git does in the copy would be done to that one.
 */
export type SkipReason = 'socket' | 'fifo' | 'device' | 'mount' | 'unreadable' | 'guarded' | 'foreign_git'
