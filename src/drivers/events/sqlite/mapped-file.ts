import { closeSync, existsSync, statfsSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname } from 'node:path'
import { probeWrite } from '../../../sys/locks/disk-full.ts'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { native } from '../../../sys/syscalls/native.ts'
import { systemError } from '../../../sys/syscalls/system-error.ts'

const btrfs = 0x9123683e
const getFlags = 0x80086601
const setFlags = 0x40086602
const noCopyOnWrite = 0x00800000
/** What SQLite writes into it, and what a file system may need besides. */
const needed = 48 * 1024

/**
 * Makes a file that SQLite maps into memory and writes to there, unless it is there. Where there is no place left for what
 * is written so, the kernel can only end the process (SIGBUS), so it is not even begun (ENOSPC); what was left in the file
 * helps nothing, as SQLite empties it first. Btrfs writes every change to a new place: there it is made so that it is
 * written where it is.
 */
export function makeMappedFile(file: string): void {
  const { type, bavail, bsize } = statfsSync(dirname(file))
  // What is kept for root alone is not told.
  if (bavail * bsize < needed && probeWrite(dirname(file)) === 'full') throw systemError(constants.errno.ENOSPC, 'mmap')
  if (existsSync(file)) return
  if (type !== btrfs) return
  const calls = native()
  const fd =
    calls && ignoreErrors(['EEXIST', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES'], () => hostFs.createSync(file, 0o600))
  if (calls === undefined || fd === undefined) return
  try {
    const flags = Buffer.alloc(8)
    calls.ioctl(fd, getFlags, flags)
    flags.writeUInt32LE((flags.readUInt32LE(0) | noCopyOnWrite) >>> 0, 0)
    calls.ioctl(fd, setFlags, flags)
  } finally {
    closeSync(fd)
  }
}
