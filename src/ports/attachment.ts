/** What must be mounted or opened to see a tree. Data, not an action. */
export type Attachment =
  | { readonly kind: 'dir'; readonly path: string }
  /** Layers, the uppermost first, to be mounted in the sandbox's own user namespace (`userxattr`). */
  | {
      readonly kind: 'overlay'
      /** Where it would be mounted; not to be used from outside. */
      readonly path: string
      readonly lower: readonly string[]
      readonly upper: string
      readonly work: string
    }

export interface Reached extends Disposable {
  readonly path: string
}
