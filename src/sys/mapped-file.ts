import { closeSync, existsSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { unless } from './errno.ts'
import { hostFs } from './host-fs.ts'
import { isNativeLoaded, native } from './native.ts'

const btrfs = 0x9123683e
const getFlags = 0x80086601
const setFlags = 0x40086602
const noCopyOnWrite = 0x00800000
/** With so much free, a process that runs for an instant does not wait for system calls to be loaded (8 ms). */
const plenty = 256 * 2 ** 20

/**
 * Makes a file that SQLite maps into memory and writes to there, unless it is there. Btrfs writes every change to a new
 * place; with none left, the kernel could only end the process (SIGBUS). Such a file is written where it is.
 */
export function makeMappedFile(file: string): void {
  if (existsSync(file)) return
  const { type, bavail, bsize } = statfsSync(dirname(file))
  if (type !== btrfs || (!isNativeLoaded() && bavail * bsize > plenty)) return
  const calls = native()
  const fd = calls && unless(['EEXIST', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES'], () => hostFs.createSync(file, 0o600))
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
