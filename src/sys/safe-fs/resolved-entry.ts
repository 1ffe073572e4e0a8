import type * as fs from 'node:fs'
import type { Name } from './descriptors.ts'

/** What a path led to. Descriptors are valid until it is disposed of. */
export interface ResolvedEntry extends Disposable {
  /** The directory that holds it. */
  readonly dir: number
  /** Its name there; '' if it is the root. */
  readonly name: Name
  /** A naming descriptor, and what it names; undefined if there is nothing there. */
  readonly fd: number | undefined
  readonly stats: fs.Stats | undefined
  /** From the root down, without `..` or links. */
  readonly names: readonly string[]
  /** Names that are left because a directory is missing; only with `missing: 'answer'`. */
  readonly rest: readonly string[]
}

export interface WalkOptions {
  /** Whether a link at the end is followed. Those on the way always are. */
  readonly follow: boolean
  /** What to do when a directory on the way is missing. Default: `file_not_found`. */
  readonly missing?: 'make' | 'answer' | undefined
  /** The path is going to be changed: protected ones are refused. */
  readonly change?: boolean | undefined
  /** Directories are made also where their owner may not write, for the moment. */
  readonly unlock?: boolean | undefined
}
