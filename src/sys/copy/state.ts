import type * as fs from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { AwError } from '../../domain/errors.ts'
import type { FolderRules, ReadRules } from '../../domain/sources/folder-rules.ts'
import type { SkipReason } from '../../ports/storage-driver.ts'
import type { CopyOwnership } from './attributes.ts'
import { hasCode } from '../syscalls/errno.ts'
import type { FolderIndex, IndexWriter } from '../trees/folder-index.ts'
import { monotonicMs } from '../home/monotonic.ts'
import { at, display, type Name } from '../safe-fs/descriptors.ts'
import type { DirectoryStack } from '../safe-fs/directory-stack.ts'
import type { Where } from '../trees/attributes.ts'
import { nodeName } from '../trees/names.ts'
import { identityIn, kindOf, linksIn, type StatFingerprint } from '../trees/stat.ts'
import { type FlushBeforeRead, isOlderThanFlush } from '../trees/write-out.ts'

/** Where a copy of a tree is, and what it has found so far. Names are bytes, one character each (latin1). */

export interface CopyOptions {
  /** What is never opened, as `device:inode`. */
  readonly guarded?: ReadonlySet<string> | undefined
  /** The tree of a workspace: kept exactly as it is and whole, or not copied at all. */
  readonly own?: boolean | undefined
  /** What it is copied into; `layer` unless it is told. */
  readonly where?: Where | undefined
  /** A folder of a user: a `.git` in it that leads to a repository elsewhere is left out; see `SkipReason`. */
  readonly ofUser?: boolean | undefined
  /** Out of a workspace: no file of the copy has the rights of whoever it belongs to then. */
  readonly outward?: boolean | undefined
  /** Only this path of it: of a directory what is in it, anything else under its own name. `.` is all. */
  readonly path?: string | undefined
  /** What is left out: the rules at the top, which may be in files there. */
  readonly rules?: ((read: ReadRules) => FolderRules | undefined) | undefined
  /** What the copy is already: what has not changed since stays. `unknown`: it is replaced by what the source is. */
  readonly before?: FolderIndex | 'unknown' | undefined
  /** Is told what the copy is, and how much of it can be known again. */
  readonly index?: IndexWriter | undefined
  /** Before anything was looked at, and what was dirty in the source written out; in milliseconds. */
  readonly flushedAt?: number | undefined
  /** For each file before it is read, if not all of them were written out. */
  readonly clean?: FlushBeforeRead | undefined
  /** The caller makes it durable in the end: that may be begun. */
  readonly durable?: boolean | undefined
  /** Without the program that does most of it, as where there is none. */
  readonly alone?: boolean | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: { files: number; bytes: number }) => void) | undefined
}

export interface State {
  readonly options: CopyOptions
  /** The top of what is copied. */
  readonly source: number
  /** The top of the copy. */
  readonly target: number
  readonly mount: string
  readonly from: DirectoryStack
  /** Level by level what `from` is; opened where something is to be done. */
  readonly to: DirectoryStack
  /** From the top down to where we are. */
  readonly frames: Frame[]
  /** Of a file with several names: where the first was copied to. */
  readonly links: Map<string, CopiedFile>
  /** Of those that stayed as they were: where they all are. */
  readonly kept: Map<string, (readonly Name[])[]>
  /** Where each of them is in the copy. */
  readonly names: Map<string, { readonly links: number; readonly paths: string[] }>
  readonly skipped: { path: string; reason: SkipReason }[]
  readonly whose: CopyOwnership
  /** Directories that are in the copy already, but for some of what is in them, by their paths. */
  readonly begun: Map<string, PartialDirectory>
  /** The first refusal settles it. */
  sharing: boolean
  files: number
  bytes: number
  reflinked: number
  excluded: number
  /** How many things are not what they were in the copy before. */
  changed: number
  breath: number
}

export interface CopiedFile {
  readonly way: readonly Name[]
  readonly print: StatFingerprint
}

/** What is in the copy of a directory, and what is to be copied still. */
export interface PartialDirectory {
  /** As it was before anything of it was read. */
  readonly print: StatFingerprint
  readonly names: string[]
  readonly prints: StatFingerprint[]
  readonly left: string[]
  /** Directories in it that were begun too. */
  readonly inside: string[]
}

/** A directory. */
export interface Frame {
  readonly name: string
  /** From the top, with a slash behind it; empty for the top. */
  readonly path: string
  /** What is still to be copied, the next one last. */
  readonly left: string[]
  readonly stat: fs.BigIntStats
  readonly print: StatFingerprint
  /** The directory was made readable, and gets its mode back. */
  readonly opened: boolean
  readonly rules: FolderRules | undefined
  /** It is in the copy only if something of it is. */
  readonly isPerhaps: boolean
  /** What the copy has in it and was not met in the source so far. */
  readonly before: Map<string, StatFingerprint>
  /** It was something else when the copy was made, or may have been. */
  readonly differs: boolean
  /** What the copy has in it now. */
  readonly names: string[]
  readonly prints: StatFingerprint[]
  /** Its copy is not there, as it was, or to be dressed in the end. */
  copy: 'missing' | 'kept' | 'open'
}

export const identityOf = ({ dev, ino }: fs.BigIntStats): string => `${dev}:${ino}`

const pathOf = (state: State, name: string): string => [...state.from.names, nodeName(name)].map(display).join('/')

export const skip = (state: State, name: string, reason: SkipReason): void =>
  void state.skipped.push({ path: pathOf(state, name), reason })

/** Where something is read and where it is made. */
export const pathsOf = (state: State, name: string): [string | Buffer, string | Buffer] => [
  at(state.from.top(), nodeName(name)),
  at(state.to.top(), nodeName(name)),
]

/** Something is in the copy now. What was seen before it was read is what a later change is told by. */
export function record(state: State, { path, names, prints }: Frame, name: string, print: StatFingerprint): void {
  names.push(name)
  noteName(state, path + name, print)
  prints.push(trustedFingerprint(state, print))
}

/** @param path of its copy */
export function noteName({ names }: Pick<State, 'names'>, path: string, print: StatFingerprint): void {
  if (print === '' || kindOf(print) === 'directory' || linksIn(print) === 1) return
  const known = names.get(identityIn(print))
  if (known === undefined) names.set(identityIn(print), { links: linksIn(print), paths: [path] })
  else known.paths.push(path)
}

/** Empty if a later change might not show. */
export const trustedFingerprint = ({ options: { flushedAt = 0 } }: State, print: StatFingerprint): StatFingerprint =>
  isOlderThanFlush(print, flushedAt) ? print : ''

/** What may not be read, or went away or changed into something else, is reported and left out. */
export function skipUnreadable<T>(state: State, name: string, look: () => T): T | undefined {
  try {
    return look()
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    if (!hasCode(error, 'EACCES', 'EPERM', 'ELOOP', 'ENOTDIR', 'EINVAL', 'ENXIO')) throw error
    if (state.options.own) throw unreadable(pathOf(state, name), error)
    skip(state, name, 'unreadable')
    return undefined
  }
}

const unreadable = (path: string, cause: unknown): AwError =>
  new AwError('source_failed', `The tree cannot be copied whole: ${path} may not be read`, {
    hint: 'Change its owner or permissions, and try again; the tree is untouched',
    data: { path },
    cause,
  })

/** Lets other work go on, tells how far we are, and notices a cancelled caller. */
export async function yieldAndReport(state: State): Promise<void> {
  const { signal, onProgress } = state.options
  if (signal?.aborted) throw new AwError('aborted', 'The copy was cancelled', { cause: signal.reason })
  if (monotonicMs() - state.breath < 40) return
  await breathe()
  state.breath = monotonicMs()
  onProgress?.({ files: state.files, bytes: state.bytes })
}
