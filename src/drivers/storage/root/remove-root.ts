import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { ensureDirectory, syncDirectory } from '../../../sys/fs/directories.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { removeTree } from '../../../sys/safe-fs/index.ts'
import { dropClaim, markClaimLeaving, unmarkClaimLeaving } from './claim.ts'
import { dropMarker, listAreas, rootDirectories, unmountedNote } from './root.ts'

/** Giving up a storage root that holds no tree. */

/** The trees of a root, as AREA/NAME. */
export const treesIn = (root: string, areas: readonly string[]): string[] =>
  listAreas(
    root,
    areas.filter((area) => existsSync(join(root, area))),
  ).map(({ area, name }) => `${area}/${name}`)

/**
 * Removes the areas, after which no tree can be made in them, also by a process that has the root open. False if there
 * is a tree after all: then they are as they were.
 */
export function removeAreas(root: string, areas: readonly string[]): boolean {
  try {
    for (const area of areas) removeEmpty(join(root, area))
    return true
  } catch (error) {
    if (!hasCode(error, 'ENOTEMPTY', 'EEXIST')) throw error
    for (const area of areas) ensureDirectory(join(root, area), 0o700)
    return false
  }
}

function removeEmpty(path: string): void {
  try {
    hostFs.rmdirSync(path)
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error
  }
}

/**
 * Gives up a root without trees: its areas, what else was made with it, then its marker, then the home's claim on it.
 * False, with everything as it was, if there is a tree after all. Begun and not ended, it is ended by the next call.
 */
export async function removeRoot(root: string, areas: readonly string[], claim: string): Promise<boolean> {
  markClaimLeaving(claim)
  if (!removeAreas(root, areas)) {
    unmarkClaimLeaving(claim)
    return false
  }
  for (const name of rootDirectories(root)) if (!areas.includes(name)) await removeTree(root, name)
  dropMarker(root)
  if (existsSync(root)) syncDirectory(root)
  dropClaim(claim)
  return true
}

/** What is in a directory would be hidden by a mount. */
export function assertEmpty(root: string): void {
  const found = readdirSync(root).filter((name) => name !== unmountedNote)
  if (found.length === 0) return
  throw new AwError('directory_not_empty', `The storage root ${root} is not empty: ${found.slice(0, 5).join(', ')}`, {
    hint: 'Move what is in it elsewhere, or choose another storage.root',
    data: { root, found: found.slice(0, 20) },
  })
}
