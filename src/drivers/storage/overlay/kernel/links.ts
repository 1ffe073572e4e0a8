import * as fs from 'node:fs'
import { join } from 'node:path'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { overlayAttribute, withDirectory } from './changes.ts'
import { at, namingFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { atBytes } from '../../../../sys/trees/names.ts'
import { decodeStat, kindOf, statEntry, type StatFingerprint } from '../../../../sys/trees/stat.ts'
import { visitPaths, walkTree } from '../../../../sys/trees/walk.ts'

/**
 * A file of a lower layer that has several names is copied up under one of them; that the others show the copy too, the
 * kernel knows from the index in the work directory alone. When the layer is frozen it loses that, and the others would
 * show the old file again. So before that, the copy gets all its names in the layer: each is copied up, which makes it a
 * hard link. Only a file of which a name is missing makes it necessary to look for names, in the whole tree.
 * @param work the work directory of the upper layer
 * @param view where the tree is mounted
 */
export function joinLinks(work: string, view: string): void {
  const missing = copiesWithoutNames(join(work, 'index'))
  if (missing.size === 0) return
  withDirectory(view, (top) => {
    const names: string[] = []
    for (const { path, print } of walkTree(top))
      if (kindOf(print) !== 'directory' && missing.has(keyOf(print))) names.push(path)
    for (const { directory, name } of visitPaths(top, names)) copyUp(directory, name)
  })
}

/** What the overlay shows of a copy and what the layer has are the same in these. */
function keyOf(print: StatFingerprint): string {
  const { kind, mode, uid, gid, size, mtimeNs, ctimeNs } = decodeStat(print)
  return [kind, mode, uid, gid, size, mtimeNs, ctimeNs].join(' ')
}

function copiesWithoutNames(index: string): Set<string> {
  const found = new Set<string>()
  for (const name of namesIn(index)) {
    const links = overlayAttribute(join(index, name), 'nlink')
    // How many more names the tree has than the layer; the one in the index is none of the tree's.
    if (links === undefined || /^U-[1-9]/.test(links)) continue
    withDirectory(index, (fd) => {
      const print = statEntry(fd, name)?.print
      if (print !== undefined) found.add(keyOf(print))
    })
  }
  return found
}

function namesIn(directory: string): string[] {
  try {
    return fs.readdirSync(directory)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return []
    throw error
  }
}

/** By setting what is set already. Nothing but the time of change is another afterwards. */
function copyUp(directory: number, name: string): void {
  let fd: number
  try {
    fd = fs.openSync(atBytes(directory, name), namingFlags)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  try {
    const stat = fs.fstatSync(fd)
    if (stat.isSymbolicLink()) hostFs.lchownSync(atBytes(directory, name), stat.uid, stat.gid)
    else hostFs.chmodSync(at(fd), stat.mode & 0o7777)
  } finally {
    fs.closeSync(fd)
  }
}
