import type { AgentBlock } from '../domain/workspace/agent-files.ts'

/**
 * What was made in a workspace, as git objects: put together in a repository of aw's own that is thrown away, then handed
 * over as a patch, a bundle or a branch. Nothing that comes from a workspace is believed: objects are checked as they
 * come, files are read by handles that follow no link, and no configuration, hook or attribute of theirs takes part.
 *
 * What git refuses is `export_failed`, in git's own words. Ids are 40 hexadecimal digits, or 64 where the repository
 * uses sha256.
 */
export interface GitResults {
  /** @param directory empty, that only we have written to and nobody else can reach */
  open(directory: string, options: OpenResults): Promise<ResultRepository>
}

export interface OpenResults {
  /** A repository of the user's, whose objects can be referred to: what it has is not made again. */
  readonly target?: string | undefined
  /** Which ids the objects have that will come: that of a target decides. */
  readonly sha256?: boolean | undefined
  readonly signal?: AbortSignal | undefined
}

export interface ResultRepository {
  /** Takes objects out of a pack of which nobody knows who wrote it. Nothing that they refer to is missing afterwards. */
  take(pack: AsyncIterable<Uint8Array>, options: TakeOptions): Promise<void>
  /** Checks that the bytes are those of this commit, and answers its tree. */
  treeIn(commit: string, content: Uint8Array): string
  /** Which of these commits are there, with all that they refer to. In the order that was given. */
  known(commits: readonly string[]): Promise<string[]>
  isAncestor(commit: string, of: string): Promise<boolean>
  /** How many commits lead to one that these do not have. */
  count(to: string, without: readonly string[]): Promise<number>
  treeOf(commit: string): Promise<string>
  /** What a name means in the target: `invalid_input` if it means no commit. */
  resolve(name: string): Promise<string>
  /** The files of a directory that nobody else writes to, as the tree that git would make of them. */
  add(directory: string, options: AddOptions): Promise<AddedTree>
  /** Writes the files of a tree into an empty directory, as a clone has them; they belong to whom the directory does. */
  checkOut(tree: string, directory: string): Promise<void>
  commit(options: CommitOptions): Promise<string>
  /**
   * The commits that lead to one, anew without blocks in files at the top; those that have none stay what they are. Answers
   * the last.
   */
  without(commit: string, options: WithoutOptions): Promise<string>
  /** Writes how one tree becomes another, as `git apply` reads it, and everything of it. The empty tree is null. */
  patch(from: string | null, to: string, file: NewFile | null): Promise<WrittenPatch>
  /** Writes a bundle that git can clone; with commits in `since`, one for those who have these. Answers its size. */
  bundle(commit: string, options: BundleOptions): Promise<number>
  /** Makes or moves a branch of the target, all of it or nothing. Neither its work trees nor its hooks are touched. */
  branch(commit: string, options: BranchOptions): Promise<BranchResult>
}

export interface TakeOptions {
  readonly maxBytes: number
  /** Commits in it whose parents are not. */
  readonly cuts?: readonly string[] | undefined
}

export interface AddOptions {
  /** Names at the top that are none of the content. What `tracked` has below them stays as it is there. */
  readonly exclude: readonly string[]
  /** Also what git ignores there. */
  readonly ignored: boolean
  /**
   * The tree that git has of it: its files are not ignored, its submodules stay what they are, and where its attributes
   * ask for other line ends in the work tree, files have those that git keeps.
   */
  readonly tracked: string | null
  readonly maxBytes: number
}

export interface AddedTree {
  readonly tree: string
  readonly files: number
  /** How many things git ignores were left out; a directory of them counts as one. */
  readonly ignored: number
  readonly left_out: readonly { readonly path: string; readonly reason: string }[]
}

export interface WithoutOptions {
  /** What these have stays as it is. */
  readonly since: readonly string[]
  readonly blocks: readonly AgentBlock[]
}

export interface CommitOptions {
  readonly tree: string
  readonly parent: string | null
  readonly message: string
  readonly author: { readonly name: string; readonly email: string }
  readonly at: Date
}

export interface NewFile {
  readonly path: string
  /** A file that is there already is replaced. Without it: `file_exists`. */
  readonly replace?: boolean | undefined
}

export interface WrittenPatch {
  readonly files: number
  readonly bytes: number
  /** The patch itself, if there is no file for it. */
  readonly content: Buffer | null
}

export interface BundleOptions {
  readonly branch: string
  readonly since: readonly string[]
  readonly file: NewFile
}

export interface BranchOptions {
  readonly name: string
  /** What the branch has is replaced. Without it: `branch_exists`. */
  readonly overwrite: boolean
  /** For the log of the branch. */
  readonly reason: string
}

export interface BranchResult {
  /** What the branch was before. */
  readonly before: string | null
  /** False if it was that commit already. */
  readonly changed: boolean
}
