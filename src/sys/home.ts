import { accessSync, closeSync, constants, existsSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { AwError, toAwError } from '../domain/errors.ts'
import { hostFs } from './host-fs.ts'
import { ensureDirectory, hasCode } from './links.ts'

/** Makes the home's own directories, or says in plain words why it cannot be used. */
export function prepareHome(home: string, directories: readonly string[]): void {
  try {
    for (const directory of [home, ...directories]) ensureDirectory(directory, 0o700)
    accessSync(home, constants.W_OK | constants.X_OK)
  } catch (error) {
    const why = hasCode(error, 'EROFS')
      ? 'it is on a read-only file system'
      : hasCode(error, 'EACCES', 'EPERM')
        ? 'you may not write there'
        : hasCode(error, 'ENOTDIR', 'ENOENT')
          ? 'something on the way to it is not a directory'
          : undefined
    if (why === undefined) throw error
    throw new AwError(toAwError(error).code, `The home ${home} cannot be used: ${why}`, {
      hint: 'Choose another home with --home or AW_HOME',
      data: { home },
      cause: error,
    })
  }
}

/** Space that is kept so that on a full disk there is some left to destroy, erase and recover with. */
export interface Reserve {
  /** Puts it there again, if there is room for much more than it. */
  keep(): void
  /** Gives it up; false if it was not there. */
  release(): boolean
}

const reserveBytes = 4 * 1024 * 1024

export function reserveIn(home: string): Reserve {
  const file = join(home, 'reserve')
  return {
    keep() {
      if (existsSync(file)) return
      const { bavail, bsize } = statfsSync(home)
      if (bavail * bsize < reserveBytes * 16) return
      fill(file)
    },
    release() {
      try {
        hostFs.unlinkSync(file)
        return true
      } catch (error) {
        if (hasCode(error, 'ENOENT')) return false
        throw error
      }
    },
  }
}

/** Neither whole nor durable: a part of it is better than none, and another process may be making it too. */
function fill(file: string): void {
  let fd: number
  try {
    fd = hostFs.createSync(file, 0o600)
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return
    throw error
  }
  try {
    // Not zeros: some file systems keep those in no space at all.
    hostFs.writeSync(fd, Buffer.alloc(reserveBytes, 'keep free '))
  } finally {
    closeSync(fd)
  }
}
