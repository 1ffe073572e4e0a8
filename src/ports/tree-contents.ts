/** How contents of trees are had. */

export interface ReadOptions {
  readonly maxBytes: number
  readonly link?: boolean | undefined
  readonly beside?: ContentFolder | undefined
}

/**
 * A directory of the host that may still have contents which a listed tree does not: what is below `into` in the tree is
 * below `folder` there. A file is taken only if its content is the one that was listed.
 */
export interface ContentFolder {
  readonly folder: string
  readonly into: string
}
