/**
 * Git repositories to make workspaces from. What comes from one is data: nothing of it runs, and nothing outside the
 * directory that a clone is made in is read or written because of it.
 *
 * `url` is https, ssh (`ssh://` or `user@host:path`) or an absolute path of this machine; anything else, and whatever
 * git could take for an option or a helper, is `invalid_input`. What goes wrong at the remote is `source_failed` with
 * git's own words, cleaned of credentials.
 */
export interface Repositories {
  /**
   * The url as it is recorded and told from others: without credentials; of a path of this machine the real one, without
   * `/.git`, so that one repository has one name there. `source_failed` if a path leads to no repository; a remote is not
   * asked.
   */
  identify(url: string): Promise<string>

  /**
   * How many paths of the work tree at a url of this machine are not as it was committed last; undefined if there is none,
   * or if that cannot be told in a moment. Nothing that the repository says is run.
   */
  uncommitted(url: string, signal?: AbortSignal): Promise<number | undefined>

  /**
   * What a ref is now: a branch, a tag, a commit id of full length, or the default branch if null. Asks the remote (a
   * path is looked at directly, without starting git where its refs are plain files), and brings nothing over.
   */
  resolve(request: ResolveRequest): Promise<Resolved>

  /**
   * Makes a repository of its own, with its work tree, in an empty directory. It borrows nothing: no alternates, no link
   * to the cache or to the source. Its `origin` is the url without credentials. Objects come through a cache that is
   * filled by one process at a time for each repository; who comes second waits, then finds them there.
   *
   * Not durable by itself. Once it failed or was aborted the directory is to be thrown away; the cache is whole.
   */
  clone(request: CloneRequest): Promise<Cloned>

  /** The caches, what they take and when they were used last. */
  list(): Promise<CachedRepository[]>

  /** Removes a cache, unless somebody uses it right now: `workspace_busy`. Absent = done. */
  remove(name: string): Promise<void>
}

export interface ResolveRequest {
  readonly url: string
  readonly ref: string | null
  /** All of its branches and tags are wanted: tell when they are other ones. */
  readonly all?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Resolved {
  /** What `identify` says of it now. */
  readonly url: string
  readonly commit: string
  /** The whole name, `refs/heads/…` or `refs/tags/…`; null for a commit by its id. */
  readonly ref: string | null
  /** Of all branches and tags, if that was asked for. */
  readonly refs?: string | undefined
}

export interface CloneRequest {
  /** As it was given: with what is needed to get in. */
  readonly url: string
  readonly resolved: Resolved
  /** That was told just now: a cache that says something else of the tag, or of all branches and tags, is renewed. */
  readonly fresh?: boolean | undefined
  /** Only the commit itself, without its history. */
  readonly shallow: boolean
  /** An empty directory that only we have written to. */
  readonly into: string
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: CloneProgress) => void) | undefined
}

export interface CloneProgress {
  readonly phase: 'counting' | 'receiving' | 'resolving' | 'checking out'
  readonly percent: number | null
  readonly bytes: number | null
  /** Told once, when it goes another way than was asked. */
  readonly note?: string | undefined
}

export interface Cloned {
  /** On a branch of this name, or at the commit without one. */
  readonly branch: string | null
  readonly files: number
  readonly bytes: number
  /** Paths of submodules: they are left empty. */
  readonly submodules: readonly string[]
  /** How many files are pointers of git-lfs: they are left as such. */
  readonly lfs: number
  /** With its history: of all branches and tags as they came along, like that of `Resolved`. */
  readonly refs?: string | undefined
  /** With its history: the source has only a part of that. */
  readonly cut?: true
}

export interface CachedRepository {
  readonly name: string
  readonly url: string
  readonly bytes: number
  readonly used_at: string
}
