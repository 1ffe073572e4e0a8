import * as fs from 'node:fs'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { findMounts } from '../../../../sys/fs/mounts.ts'
import { at, directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import { openFrom } from '../../../../sys/safe-fs/directory-stack.ts'

/** Overlays that other mount namespaces have, as sandboxes do: found by their upper layer, and gone into. */

const overlayMagic = 0x794c7630

/** The top of such a mount, open; undefined if there is none that we may go into. */
export function openInOtherNamespace(upper: string): number | undefined {
  for (const { process, path } of findMounts((mount) => mount.upper === upper).others) {
    const fd = openIn(process, path)
    if (fd === undefined) continue
    if (isOver(fd, upper)) return fd
    fs.closeSync(fd)
  }
  return undefined
}

/**
 * Name by name: whoever is inside may have put links on the way, and those would lead through our own file system. The
 * process may be gone, or be another one by now.
 */
function openIn(process: number, path: string): number | undefined {
  try {
    const root = fs.openSync(`/proc/${process}/root/.`, directoryFlags)
    try {
      return openFrom(root, [...path.split('/').filter(Boolean), '.'])
    } finally {
      fs.closeSync(root)
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ESRCH', 'EACCES', 'EPERM', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}

/** The top of an overlay has the number of its upper layer's. */
function isOver(fd: number, upper: string): boolean {
  if (fs.statfsSync(at(fd, '.')).type !== overlayMagic) return false
  return fs.fstatSync(fd, { bigint: true }).ino === fs.lstatSync(upper, { bigint: true }).ino
}
