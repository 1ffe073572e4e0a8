import type * as fs from 'node:fs'
import { setImmediate as breathe } from 'node:timers/promises'
import { AwError } from '../domain/errors.ts'
import type { SkipReason } from '../ports/storage-driver.ts'
import type { Whose } from './copy-attributes.ts'
import { hasCode } from './errno.ts'
import { at, display, type Name } from './safe-fs/descriptors.ts'
import type { Levels } from './safe-fs/levels.ts'

/** Where a copy of a tree is, and what it has found so far. */

export interface CopyOptions {
  /** What is never opened, as `device:inode`. */
  readonly guarded?: ReadonlySet<string> | undefined
  /** The tree of a workspace: kept exactly as it is and whole, or not copied at all. */
  readonly own?: boolean | undefined
  /** Only this path of it: of a directory what is in it, anything else under its own name. `.` is all. */
  readonly path?: string | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: { files: number; bytes: number }) => void) | undefined
}

export interface State {
  readonly options: CopyOptions
  /** The top of the copy. */
  readonly target: number
  readonly mount: string
  readonly from: Levels
  readonly to: Levels
  /** From the top down to where we are. */
  readonly frames: Frame[]
  /** Where the first name of a file with several was copied to. */
  readonly links: Map<string, readonly Name[]>
  readonly skipped: { path: string; reason: SkipReason }[]
  readonly whose: Whose
  /** The first refusal settles it. */
  sharing: boolean
  files: number
  bytes: number
  reflinked: number
  breath: number
}

export interface Frame {
  /** What is still to be copied, the next one last. */
  readonly left: Name[]
  readonly stat: fs.BigIntStats
  /** The directory was made readable, and gets its mode back. */
  readonly opened: boolean
}

export const identityOf = ({ dev, ino }: fs.BigIntStats): string => `${dev}:${ino}`

const pathOf = (state: State, name: Name): string => [...state.from.names, name].map(display).join('/')

export const skip = (state: State, name: Name, reason: SkipReason): void =>
  void state.skipped.push({ path: pathOf(state, name), reason })

/** Where something is read and where it is made. */
export const pathsOf = (state: State, name: Name): [string | Buffer, string | Buffer] => [
  at(state.from.top(), name),
  at(state.to.top(), name),
]

/** What may not be read, or went away or changed into something else, is reported and left out. */
export function reading<T>(state: State, name: Name, look: () => T): T | undefined {
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
export async function pause(state: State): Promise<void> {
  const { signal, onProgress } = state.options
  if (signal?.aborted) throw new AwError('aborted', 'The copy was cancelled', { cause: signal.reason })
  if (performance.now() - state.breath < 40) return
  await breathe()
  state.breath = performance.now()
  onProgress?.({ files: state.files, bytes: state.bytes })
}
