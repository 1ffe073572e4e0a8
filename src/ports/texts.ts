import type { RunId, WorkspaceId } from '../domain/ids.ts'
import type { TextRef } from '../domain/text/ref.ts'

export type TextOwner = WorkspaceId | RunId

/**
 * Texts that belong to a workspace but not into the log (agent files, task specifications, prompts). The log has their
 * hash and length; the text can be erased while the log stays whole. One for each workspace, and for each
 * run the prompt.
 */
export interface Texts {
  /** Durable when it resolves. Replaces what is there. */
  put(id: TextOwner, text: string): Promise<void>
  /** `undefined` if it was erased. A text that does not match its hash is `log_damaged`. */
  get(id: TextOwner, ref: TextRef): Promise<string | undefined>
  /** Absent = done. */
  remove(id: TextOwner): Promise<void>
}
