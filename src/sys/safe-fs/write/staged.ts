import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { temporaryName } from '../../../domain/paths.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { native } from '../../syscalls/native.ts'
import { at, errnoOf, O_PATH } from '../descriptors.ts'
import type { ResolvedEntry } from '../resolved-entry.ts'

/** A file that is written and is not in its place yet. Disposed of before it is, nothing is left of it. */
export interface Staged extends Disposable {
  readonly fd: number
  /** @param keepExisting fail with EEXIST instead of replacing */
  put(entry: ResolvedEntry, keepExisting: boolean): void
}

/**
 * For a while: the directory may be closed meanwhile. Without a name, so that nobody meets it half written and a crash leaves nothing; under a temporary one where the file
 * system knows no such files or there are no system calls.
 */
export function stage(dir: number, mode: number, namedMode: number): Staged {
  const fd = native() && createUnnamed(dir, mode)
  if (fd !== undefined) return { fd, put: (...to) => name(fd, ...to), [Symbol.dispose]: () => fs.closeSync(fd) }
  const own = fs.openSync(at(dir), O_PATH | fs.constants.O_DIRECTORY)
  try {
    const file = stageNamed(own, namedMode)
    return {
      ...file,
      [Symbol.dispose]() {
        file[Symbol.dispose]()
        fs.closeSync(own)
      },
    }
  } catch (error) {
    fs.closeSync(own)
    throw error
  }
}

const noUnnamed = new Set(['EOPNOTSUPP', 'ENOTSUP', 'EISDIR', 'EINVAL'])

function createUnnamed(dir: number, mode: number): number | undefined {
  try {
    return hostFs.createUnnamedSync(at(dir), mode)
  } catch (error) {
    if (noUnnamed.has(errnoOf(error))) return undefined
    throw error
  }
}

/** A name is given, never taken: what is there is replaced by a rename. */
function name(fd: number, entry: ResolvedEntry, keepExisting: boolean): void {
  if (keepExisting || !entry.stats) {
    try {
      hostFs.nameSync(fd, at(entry.dir, entry.name))
      return
    } catch (error) {
      if (keepExisting || errnoOf(error) !== 'EEXIST') throw error
    }
  }
  const temporary = atFreeName(entry.dir, (path) => hostFs.nameSync(fd, path)).path
  try {
    hostFs.renameSync(temporary, at(entry.dir, entry.name))
  } catch (error) {
    removeQuietly(temporary)
    throw error
  }
}

/** In the directory, and so on the same disk, as a rename needs it. */
function stageNamed(dir: number, mode: number): Staged {
  const { path, result: fd } = atFreeName(dir, (path) => hostFs.createSync(path, mode))
  let isThere = true
  return {
    fd,
    put(entry, keepExisting) {
      const rename = keepExisting ? hostFs.renameNoReplaceSync : hostFs.renameSync
      rename(path, at(entry.dir, entry.name))
      isThere = false
    },
    [Symbol.dispose]() {
      if (isThere) removeQuietly(path)
      fs.closeSync(fd)
    },
  }
}

function atFreeName<T>(dir: number, make: (path: string) => T): { path: string; result: T } {
  for (;;) {
    const path = at(dir, newTemporaryName())
    try {
      return { path, result: make(path) }
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
    }
  }
}

export const newTemporaryName = (): string => temporaryName(randomBytes(8).toString('hex'))

function removeQuietly(path: string): void {
  try {
    hostFs.unlinkSync(path)
  } catch {
    // The first failure is the one to tell.
  }
}
