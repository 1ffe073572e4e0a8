import type { Owner } from '../domain/workspace/state.ts'

/**
 * What the core needs from the machine besides trees and the log: locks that die with their holder, proof of life, who
 * is using a directory, and the links by which users find workspaces.
 */
export interface Host {
  /** This process, as operations are signed with. */
  owner(): Owner

  /**
   * `dead` only if proved: another boot of this machine, or the same boot and pid namespace with no such process. A process in
   * another pid namespace or on another host is `unknown`.
   */
  liveness(owner: Owner): 'alive' | 'dead' | 'unknown'

  /**
   * Kills exactly that process, never a later one with its pid; resolves when it is gone. `confirm` is asked last, when
   * the process can no longer be mistaken for another; with `false` it is left alone.
   */
  kill(owner: Owner, options: { timeoutMs: number; confirm: () => Promise<boolean> }): Promise<void>

  /**
   * A kernel lock that the process holds until it is released or dies. `undefined` if it was not to be had in time.
   * Locks exclude one another between processes and inside one. A name is a single one, of at most 200 bytes.
   */
  lock(name: string, options: { timeoutMs: number; signal?: AbortSignal | undefined }): Promise<Lock | undefined>

  /** Resolves after that time, or at once when the signal fires. */
  pause(ms: number, signal?: AbortSignal): Promise<void>

  /**
   * Processes (not this one) with their working directory, root or an open file below a directory, also by another mount
   * of it, as containers have one. @param except processes that do not count, nor does what they have started
   */
  users(
    directory: string,
    options?: { readonly except?: readonly number[] | undefined; readonly mounted?: boolean | undefined },
  ): Promise<ProcessUse[]>

  /** Makes `path` a symbolic link to `target`, with missing parents. `file_exists` if something else is there. */
  publish(path: string, target: string): Promise<void>
  /** Removes the link if it points to `target` (and empty parents below `base`); absent or foreign = left alone. */
  unpublish(path: string, target: string, base: string): Promise<void>
  /** Where the link at `path` points, if it is one. */
  published(path: string): Promise<string | undefined>

  /**
   * Copies a file or a directory, of the machine or below a tree (where no link on the way is followed), into a new
   * directory at the top of a tree: what is in a directory, or anything else under its own name (`single`). Links are
   * copied as links. What cannot be copied at all is `permission_denied`, `not_a_file` or `file_not_found`, and named as
   * the caller named it.
   */
  copyIn(source: CopySource, to: string, options: CopyOptions): Promise<CopyReport>
  /**
   * Copies it to a path of the machine: into it if it is a directory, else as it. It appears there when it is whole. No
   * file of it has set-user-id or set-group-id: it would have the rights of whoever copies it.
   * `file_exists` if something is in the way; with `replace`, a file is replaced by what is no directory.
   * `invalid_input` as with `assertTarget`.
   */
  copyOut(
    source: CopySource,
    to: string,
    options: CopyOptions & { readonly replace?: boolean | undefined },
  ): Promise<CopyReport>

  /** `invalid_input` if a file at this path would be among aw's own: in its home or its storage, but for workspaces. */
  assertTarget(path: string): void

  /** `git init` in a fresh directory that nobody else has written to, with a user's name and email for its commits. */
  gitInit(directory: string, user: { name: string; email: string }): Promise<void>
}

export interface Lock extends Disposable {
  /** Gives the lock back and removes what stands for it on disk: for a name that is over. Whoever waits gets a new one. */
  retire(): void
}

export type CopySource =
  | string
  | {
      readonly root: string
      /** Below it, without a link on the way; one at the end is copied as a link. */
      readonly path: string
      /** What it is called in a directory that it is copied into: as it was asked for. `.` if it has no name. */
      readonly name: string
    }

export interface CopyOptions {
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: { files: number; bytes: number }) => void) | undefined
}

export interface CopyReport {
  readonly files: number
  readonly bytes: number
  readonly skipped: readonly { readonly path: string; readonly reason: string }[]
  readonly single: boolean
}

export interface ProcessUse {
  readonly pid: number
  readonly command: string
  readonly uses: 'cwd' | 'root' | 'file' | 'mount'
  /** A process of aw that has the log of this home open, or copies files for one: it is soon done. */
  readonly own?: true
}
