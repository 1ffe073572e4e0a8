/** What a storage driver can and cannot do, as data: whoever needs to know branches on this, never on a name. */
export interface StorageCapabilities {
  /** Where a tree can be seen: by every process of the host, or only inside a sandbox (and by who reaches for it). */
  readonly visibility: 'host' | 'sandbox'
  /** Whether copies share blocks; `probed` = depends on the file system, `probe` tells. */
  readonly reflink: 'always' | 'probed' | 'never'
  readonly needsRoot: boolean
  /** What a snapshot costs: nothing that grows with the tree, what changed since the last, or the whole tree. */
  readonly snapshot: Cost
  /** What a tree from a snapshot costs. */
  readonly fork: Cost
  readonly diff: Cost
  /** What a snapshot of a tree is that is being written to. */
  readonly live: 'atomic' | 'fuzzy'
  /** Whether a snapshot puts another directory in the place of the tree's: whoever opened that one before has an old one. */
  readonly remounts: boolean
  /** `exchange`: the tree is replaced whole, in one step; `in place`: its files are changed one by one. */
  readonly restore: 'exchange' | 'in place'
  /** Whether the names of one file stay names of one file when it is written to in a tree from a snapshot. */
  readonly hardlinks: boolean
  /** Whether a directory that came with a snapshot can be renamed in one step; else `rename` is refused (EXDEV). */
  readonly dirRename: boolean
  /** Whether a tree can be mounted as if it belonged to others, so that a workspace can have a user of its own. */
  readonly idmap: boolean
  /** Whether the kernel can hold a tree to `maxBytes`. */
  readonly quota: 'kernel' | 'none'
  /** Whether `usage` can look into the trees. */
  readonly measures: boolean
  /**
   * Whom an empty tree belongs to, as user and group, if not whoever runs this; what is put into it by `import` and by
   * file handles then does too. Trees that are made from others have their owners.
   */
  readonly owner?: number | undefined
  /** What a snapshot does not keep, and why. */
  readonly unfaithful: readonly { readonly what: string; readonly why: string }[]
}

type Cost = 'constant' | 'changes' | 'linear'
