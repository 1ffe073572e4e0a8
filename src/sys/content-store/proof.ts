import { hasCode } from '../errno.ts'
import type { Steps } from '../safe-fs/steps.ts'
import { look } from '../trees/stat.ts'
import { nameOf, openDirectories } from './directories.ts'
import type { Known } from './stat-index.ts'

/**
 * Whether everything in a tree still is what it was told to be, so that no second reading is needed: each thing is looked
 * at once more. A directory that did not change has the same names in it, so none is listed. A look tells only of changes
 * that were not made in the tick of the clock of the one before.
 */
export function* isUnchanged(top: number, entries: ReadonlyMap<string, Known>): Steps<boolean> {
  using directories = openDirectories(top)
  let looks = 0
  try {
    for (const [path, { print }] of entries) {
      const seen = path === '.' ? look(top, '') : look(directories.holding(path), nameOf(path))
      if (seen?.print !== print) return false
      if (++looks % 64 === 0) yield
    }
    return true
  } catch (error) {
    // One that only its owner can open, by changing its mode; or it is gone.
    if (hasCode(error, 'EACCES', 'ENOENT', 'ENOTDIR', 'ELOOP')) return false
    throw error
  }
}
