import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { hasCode } from '../syscalls/errno.ts'

/** The path without links, also of something that does not exist yet: its nearest ancestor that does, and the rest. */
export function canonical(path: string): string {
  try {
    return realpathSync.native(path)
  } catch (error) {
    const parent = dirname(path)
    if (!hasCode(error, 'ENOENT', 'ENOTDIR', 'EACCES') || parent === path) throw error
    return join(canonical(parent), basename(path))
  }
}
