import type { Token } from '../domain/tokens/tokens.ts'

export type { Token } from '../domain/tokens/tokens.ts'

/**
 * Who stands behind a secret. Asked for every request that comes with one, so it is cheap: what is known is kept, and
 * the log is only asked whether it has grown. What any process revokes counts from the next question on.
 */
export interface Tokens {
  /**
   * The token of this secret; undefined if there is none, or if it is revoked or expired. Its `workspaces` are those that
   * are there: one that was destroyed is not among them, and a token that is left with none is not valid any more.
   */
  find(secret: string): Promise<Token | undefined>
}
