import { closeSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { hostFs } from './host-fs.ts'
import { hasCode } from '../syscalls/errno.ts'

/**
 * Space that is kept so that on a full disk there is some left to destroy, erase and recover with. Whoever uses it puts
 * back at once what is left of it, so that whatever filled the disk cannot take it too.
 */
export interface Reserve {
  /** Puts it in its place, as far as there is room; true if it is whole. */
  keep(): boolean
  /** Gives it up; false if there was none. */
  release(): boolean
}

/** Left free beside it: what it was given up for goes on with this. */
const headroomBytes = 256 * 1024

export function reserveIn(home: string, bytes: number): Reserve {
  const file = join(home, 'reserve')
  const size = (): number | undefined => statSync(file, { throwIfNoEntry: false })?.size
  return {
    keep() {
      const found = size()
      const there = found ?? 0
      if (there >= bytes) return true
      const { bavail, bsize } = statfsSync(home)
      const room = there + bavail * bsize - headroomBytes
      if (room > there) extend(file, found, Math.min(bytes, room))
      return (size() ?? 0) >= bytes
    },
    release() {
      try {
        hostFs.unlinkSync(file)
        return true
      } catch (error) {
        if (hasCode(error, 'ENOENT', 'EROFS')) return false
        throw error
      }
    },
  }
}

/** Neither durable nor exact: a part of it is better than none, and another process may be making or using it too. */
function extend(file: string, from: number | undefined, to: number): void {
  let fd: number | undefined
  try {
    fd = from === undefined ? hostFs.createSync(file, 0o600) : hostFs.openAppendSync(file)
    // Not zeros: some file systems keep those in no space at all.
    hostFs.writeSync(fd, Buffer.alloc(to - (from ?? 0), 'keep free '))
  } catch (error) {
    if (!hasCode(error, 'EEXIST', 'ENOENT', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM')) throw error
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
