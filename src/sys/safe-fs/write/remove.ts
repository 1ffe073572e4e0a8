import * as fs from 'node:fs'
import type { PathOptions, UnlockOptions } from '../../../ports/files.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { unlock } from '../../trees/unlock.ts'
import { at, directoryFlags, display, errnoOf, mountId, type Name, O_PATH } from '../descriptors.ts'
import { refusal, translate, translatingErrors } from '../errors.ts'
import { type DirectoryStack, openDirectoryStack } from '../directory-stack.ts'
import { parseRequest } from '../request.ts'
import type { Root } from '../root.ts'
import { type Coroutine, runToCompletion, runYielding } from '../coroutine.ts'
import { withResolvedEntry } from '../walk.ts'

export function remove(
  root: Root,
  path: string,
  options: PathOptions & UnlockOptions & { recursive?: boolean; missing?: 'error' | 'ignore' } = {},
): { removed: boolean } {
  const parsed = parseRequest(root, path, options, { root: false })
  const missing = options.missing === 'ignore' ? 'answer' : undefined
  return withResolvedEntry(root, parsed, { follow: false, change: true, missing }, (spot) => {
    const absent = (): { removed: boolean } => {
      if (options.missing === 'ignore') return { removed: false }
      throw refusal('file_not_found', path)
    }
    if (spot.name === '') throw refusal('path_protected', path)
    if (!spot.stats) return absent()
    using _ = options.unlock ? unlock(spot.dir, 0o300) : undefined
    return translatingErrors(path, () => {
      if (options.recursive)
        return runToCompletion(removeSteps(spot.dir, spot.name, path)) ? { removed: true } : absent()
      if (spot.stats?.isDirectory()) hostFs.rmdirSync(at(spot.dir, spot.name))
      else hostFs.unlinkSync(at(spot.dir, spot.name))
      return { removed: true }
    })
  })
}

/**
 * Erases `name` in a directory that nobody else can change (the parent is trusted, what is in it is not). False if it
 * was not there. Links are not followed, mounts not crossed; a directory of ours that forbids it is made writable
 * first; how deep the tree is does not matter. Other work goes on in between.
 */
export async function removeTree(
  parent: string,
  name: string,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<boolean> {
  const fd = translatingErrors(name, () => fs.openSync(parent, O_PATH | fs.constants.O_DIRECTORY))
  try {
    return await runYielding(removeSteps(fd, name, name), options.signal)
  } finally {
    fs.closeSync(fd)
  }
}

interface Removal {
  readonly path: string
  readonly mount: string
  readonly levels: DirectoryStack
  /** What is still to be removed at each level. */
  readonly left: Entry[][]
  retries: number
}

interface Entry {
  readonly name: Name
  readonly directory: boolean
}

/** How often someone may put something back before we give up. */
const maxRetries = 1000

export function* removeSteps(parent: number, name: Name, path: string): Coroutine<boolean> {
  const state: Removal = { path, mount: mountId(parent), levels: openDirectoryStack(parent), left: [], retries: 0 }
  try {
    const found = removeEntry(state, { name, directory: true })
    while (state.left.length > 0) {
      const next = state.left.at(-1)?.pop()
      if (next) removeEntry(state, next)
      else leave(state)
      yield
    }
    return found
  } catch (error) {
    throw translate(error, place(state))
  } finally {
    state.levels[Symbol.dispose]()
  }
}

const place = (state: Removal): string => [state.path, ...state.levels.names.slice(1).map(display)].join('/')

/** Unlinks it, or goes into it if it is a directory. False if it is not there (any more). */
function removeEntry(state: Removal, entry: Entry): boolean {
  return entry.directory ? enter(state, entry.name) : unlink(state, entry.name)
}

function enter(state: Removal, name: Name): boolean {
  const { levels } = state
  let fd: number
  try {
    fd = permitted(state, () => fs.openSync(at(levels.top(), name), directoryFlags))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    if (errnoOf(error) !== 'ENOTDIR' && errnoOf(error) !== 'ELOOP') throw error
    return unlink(state, name)
  }
  levels.push(name, fd)
  if (mountId(fd) !== state.mount) throw refusal('path_outside_workspace', place(state))
  state.left.push(permitted(state, () => entriesOf(fd)))
  return true
}

function unlink(state: Removal, name: Name): boolean {
  try {
    permitted(state, () => hostFs.unlinkSync(at(state.levels.top(), name)))
    return true
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT') return false
    if (errno === 'EBUSY') throw refusal('path_outside_workspace', place(state), { cause: error })
    if (errno !== 'EISDIR') throw error
    again(state, error)
    return enter(state, name)
  }
}

/** The directory has nothing in it any more, as far as we know. */
function leave(state: Removal): void {
  const name = state.levels.names.at(-1) ?? ''
  state.left.pop()
  state.levels.pop()
  try {
    permitted(state, () => hostFs.rmdirSync(at(state.levels.top(), name)))
  } catch (error) {
    const errno = errnoOf(error)
    if (errno === 'ENOENT') return
    if (errno !== 'ENOTEMPTY' && errno !== 'EEXIST' && errno !== 'ENOTDIR') throw error
    again(state, error)
    enter(state, name)
  }
}

function again(state: Removal, error: unknown): void {
  if (++state.retries > maxRetries) throw error
}

/** As an owner may: the directory that stands in the way is opened up, if it is part of what is removed. */
function permitted<T>(state: Removal, call: () => T): T {
  try {
    return call()
  } catch (error) {
    if (errnoOf(error) !== 'EACCES' || state.levels.names.length === 0) throw error
    try {
      hostFs.chmodSync(at(state.levels.top()), 0o700)
    } catch {
      throw error
    }
    return call()
  }
}

function entriesOf(dir: number): Entry[] {
  const entries = fs.readdirSync(at(dir), { withFileTypes: true, encoding: 'buffer' })
  return entries.map((entry) => ({ name: entry.name, directory: entry.isDirectory() }))
}
