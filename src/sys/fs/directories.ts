import { closeSync, fsyncSync, lstatSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from './host-fs.ts'

/** Whether something is there, a link too. */
export const pathExists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Makes a directory and its missing parents. */
export function ensureDirectory(path: string, mode = 0o755): void {
  if (pathExists(path)) return
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
export function assertOwned(path: string, what: string): void {
  const stat = statSync(path, { throwIfNoEntry: false })
  const uid = process.getuid?.() ?? 0
  if (stat === undefined || (stat.uid === uid && (stat.mode & 0o022) === 0)) return
  const refused = (why: string, hint: string): AwError =>
    new AwError('home_owner_mismatch', `The ${what} ${path} ${why}`, { hint, data: { path, owner: stat.uid, uid } })
  throw stat.uid === uid
    ? refused('can be changed by other users', `Keep them out: chmod go-w ${path}`)
    : refused(
        `belongs to uid ${stat.uid}; this process is uid ${uid}`,
        uid === 0
          ? `Run aw as its owner: sudo -u '#${stat.uid}' aw …; or choose another directory`
          : `Choose another directory, or run aw as uid ${stat.uid}; if it is yours: sudo chown -R ${uid} ${path}`,
      )
}

/** Makes renames and new names in a directory durable. One that somebody removed has nothing to make durable. */
export function syncDirectory(path: string): void {
  try {
    syncPath(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

/** The same, while other work goes on. */
export async function syncDirectoryAsync(path: string): Promise<void> {
  try {
    const fd = openSync(path, 'r')
    try {
      await hostFs.fsync(fd)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

/** Makes what a file or directory holds durable. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
