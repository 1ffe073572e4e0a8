import type { ErrorCode } from '../domain/errors.ts'
import type { Scope } from '../domain/tokens/scopes.ts'
import type { UseCase } from '../domain/workspace/allow.ts'
import type { Infer, Schema } from './schema.ts'

/**
 * One thing that `aw` can do. Command line, SDK, HTTP, MCP and the reference pages are derived from this description;
 * the use case of the same name does the work.
 */
export interface Operation<I = unknown, O = unknown> {
  /** Words of the command line: `create`, `fs read`. */
  readonly name: string
  /** `read` changes nothing. `destructive` takes something away from its place, though never for good unless it says so. */
  readonly kind: 'read' | 'write' | 'destructive'
  readonly group: 'Workspaces' | 'Runs' | 'Sandboxes' | 'Snapshots' | 'Sources' | 'Files' | 'Log' | 'Care'
  /** Where HTTP has it, below /api. A word after a colon is a field; of several, the first whose fields are given. */
  readonly routes: readonly Route[]
  /** What a token must allow. */
  readonly scope: Scope
  /** Fields that name workspaces, so that a token can be held to some of them. */
  readonly names?: Readonly<Record<string, Reference>>
  /**
   * It makes something new: HTTP answers 201. A name is that of the field with one result for each thing that was to be
   * made: if none is `ok`, nothing is new, and HTTP answers 200.
   */
  readonly makes?: true | string
  /** Its answer holds a secret: no door keeps it, or writes it down anywhere. */
  readonly secret?: true
  /** What it takes while it goes on (`CallContext.input`): the bytes of a file, or what a command is given. */
  readonly takes?: 'bytes' | 'input'
  /** Its items are pieces of a file: HTTP sends the bytes as they are. */
  readonly gives?: 'bytes'
  /** It goes on if whoever asked for it leaves; only a wish to stop ends it. */
  readonly outlives?: true
  /**
   * It uses what is around the caller: credentials, programs, files of the machine; or it lives as long as the caller.
   * The command line does it itself, also if a daemon runs.
   */
  readonly near?: true
  /** One line for `--help`. */
  readonly summary: string
  /** More for its own help page and the reference. */
  readonly details?: string
  readonly input: Schema<I>
  readonly output: Schema<O>
  /** `stream`: the output describes each of many items. `bytes`: the output is a file's content. */
  readonly form?: 'value' | 'stream' | 'bytes'
  /** A stream that comes to an end by itself, so that a caller may also wait for all of it. */
  readonly ends?: true
  /** Fields that may be given by position, in order. A last one that is a list takes all that follow. */
  readonly positional: readonly string[]
  /** The first positional field may be repeated; each gets a result of its own. */
  readonly batch?: true
  /** Other spellings of flags: `task-id` for `task`. */
  readonly flags?: Readonly<Record<string, string>>
  /** The states in which the use case may begin (`domain/workspace/allow.ts`). */
  readonly states?: UseCase
  readonly errors: readonly ErrorCode[]
  readonly examples: readonly string[]
}

export type Route = `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`

/**
 * How a field names a workspace: one that is there; one that is to be made (or is there already); one in the trash; or
 * a tree: WORKSPACE, WORKSPACE@SNAPSHOT or the id of a snapshot.
 */
export type Reference = 'workspace' | 'new' | 'trash' | 'tree'

/** Checks the entry and keeps its exact types. */
export const operation = <I, O, const R extends Omit<Operation<I, O>, 'input' | 'output'>>(
  entry: R & { input: Schema<I>; output: Schema<O> },
): R & { input: Schema<I>; output: Schema<O> } => entry

export type InputOf<Op> = Op extends { input: infer S } ? Infer<S> : never
export type OutputOf<Op> = Op extends { output: infer S } ? Infer<S> : never
