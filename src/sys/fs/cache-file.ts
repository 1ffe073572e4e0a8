import { closeSync } from 'node:fs'
import { dirname } from 'node:path'
import { ensureDirectory } from './directories.ts'
import { readIfPresent } from './durable-file.ts'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from './host-fs.ts'

/** Small files that may be lost: whole or not there, but not durable. What goes wrong with one concerns nobody. */
export const cacheFile = {
  read(file: string): string | undefined {
    return quietly(() => readIfPresent(file))
  },
  write(file: string, text: string): void {
    const unfinished = `${file}.${process.pid}`
    const written = quietly(() => {
      ensureDirectory(dirname(file), 0o700)
      const fd = hostFs.createSync(unfinished, 0o600)
      try {
        hostFs.writeSync(fd, Buffer.from(text))
      } finally {
        closeSync(fd)
      }
      hostFs.renameSync(unfinished, file)
      return true
    })
    if (written === undefined) this.remove(unfinished)
  },
  remove(file: string): void {
    quietly(() => hostFs.unlinkSync(file))
  },
}

/** A full disk, one that is read-only, a file that somebody else just made or removed. */
function quietly<T>(call: () => T): T | undefined {
  try {
    return call()
  } catch (error) {
    if (hasCode(error, ...harmless)) return undefined
    throw error
  }
}

const harmless = ['ENOENT', 'EEXIST', 'ENOTDIR', 'EISDIR', 'ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO']
