import { closeSync, existsSync, fsyncSync, lstatSync, openSync, readlinkSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { AwError } from '../domain/errors.ts'
import { hostFs } from './host-fs.ts'

/** The links by which users find workspaces: `<base>/<task>/<agent>` points to the tree. */

export function publish(path: string, target: string, home: string): void {
  // A parent made for us can be removed as empty by someone else before we use it.
  for (let attempt = 0; ; attempt++) {
    ensureDirectory(dirname(path))
    try {
      hostFs.symlinkSync(target, path)
      break
    } catch (error) {
      if (hasCode(error, 'EEXIST') && published(path) === target) break
      if (hasCode(error, 'EEXIST') && isStale(path, target, home)) hostFs.unlinkSync(path)
      else if (hasCode(error, 'EEXIST')) throw taken(path)
      if (hasCode(error, 'ENOTDIR')) throw taken(dirname(path))
      if (!hasCode(error, 'ENOENT', 'EEXIST') || attempt === 100) throw error
    }
  }
  syncDirectory(dirname(path))
}

/**
 * A link to the tree of this very id, where it was before the home was moved or copied. Outside the home it may be the
 * link of the home that this one was copied from, unless its tree is gone.
 */
function isStale(path: string, target: string, home: string): boolean {
  const old = published(path) ?? ''
  const tail = (text: string): string => text.split('/').slice(-3).join('/')
  return tail(old) === tail(target) && (isBelow(path, home) || !existsSync(old))
}

const isBelow = (path: string, directory: string): boolean => path.startsWith(`${directory}/`)

/**
 * Only a link to `target` is removed; then parents that are empty now, up to `base`, if they are in the home: elsewhere
 * they may be somebody else's.
 */
export function unpublish(path: string, target: string, base: string, home: string): void {
  if (published(path) === target) {
    try {
      hostFs.unlinkSync(path)
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error
    }
  }
  if (!isBelow(base, home)) return
  for (let parent = dirname(path); isBelow(parent, base); parent = dirname(parent)) {
    try {
      hostFs.rmdirSync(parent)
    } catch (error) {
      if (hasCode(error, 'ENOENT')) continue
      // Others have links there, or it is not ours to remove.
      break
    }
  }
}

export function published(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** Makes a directory and its missing parents. */
export function ensureDirectory(path: string, mode = 0o755): void {
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) return
  ensureDirectory(dirname(path), mode)
  try {
    hostFs.mkdirSync(path, mode)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}

/**
 * A directory that everything rests on belongs to this process's user, and nobody else may write to it: they could put
 * anything in the place of what is in it. One that is not there yet is fine.
 */
export function assertOurs(path: string, what: string): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  const uid = process.getuid?.() ?? 0
  if (stat === undefined || (stat.uid === uid && (stat.mode & 0o022) === 0)) return
  const refused = (why: string, hint: string): AwError =>
    new AwError('home_owner_mismatch', `The ${what} ${path} ${why}`, { hint, data: { path, owner: stat.uid, uid } })
  throw stat.uid === uid
    ? refused('can be changed by other users', `Keep them out: chmod go-w ${path}`)
    : refused(
        `belongs to uid ${stat.uid}; this process is uid ${uid}`,
        `Choose another directory, or run aw as uid ${stat.uid}; if it is yours: chown ${uid} ${path}`,
      )
}

/** Makes renames and new names in a directory durable. */
export function syncDirectory(path: string): void {
  let fd: number
  try {
    fd = openSync(path, 'r')
  } catch (error) {
    // Removed as empty by someone else: then there is nothing to make durable.
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

const taken = (path: string): AwError =>
  new AwError('file_exists', `There is something at ${path} that aw did not make`, {
    hint: 'Move it away, or choose another name or base_path',
    data: { path },
  })

export const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code))
