import { existsSync, readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { ensureDirectory, syncDirectoryAsync } from './directories.ts'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from './host-fs.ts'

/** The links by which users find workspaces: `<base>/<task>/<agent>` points to the tree. */

/** Durable when it resolves. The link is there when it returns. */
export async function publish(path: string, target: string, home: string): Promise<void> {
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
  await syncDirectoryAsync(dirname(path))
}

/**
 * A link to the tree of this very id, where it was before the home was moved or copied. Outside the home it may be the
 * link of the home that this one was copied from, unless its tree is gone. Or one to another tree of ours, which a power cut
 * has put back: nobody else can have a name that is ours to give.
 */
function isStale(path: string, target: string, home: string): boolean {
  const old = published(path) ?? ''
  if (dirname(old) === dirname(target)) return true
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

const taken = (path: string): AwError =>
  new AwError('file_exists', `There is something at ${path} that aw did not make`, {
    hint: 'Move it away, or choose another name or base_path',
    data: { path },
  })
