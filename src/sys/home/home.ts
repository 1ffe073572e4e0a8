import { accessSync, constants, existsSync } from 'node:fs'
import { join } from 'node:path'
import { AwError, toAwError } from '../../domain/errors.ts'
import { assertOwned, ensureDirectory } from '../fs/directories.ts'
import { hasCode } from '../syscalls/errno.ts'

/** Makes the home's own directories, or says in plain words why it cannot be used. */
export function prepareHome(home: string, directories: readonly string[]): void {
  try {
    assertOwned(home, 'home')
    for (const directory of [home, ...directories]) ensureDirectory(directory, 0o700)
    accessSync(home, constants.W_OK | constants.X_OK)
  } catch (error) {
    // A log on a read-only file system can still be read; what would write says so itself.
    if (hasCode(error, 'EROFS') && existsSync(join(home, 'log.db'))) return
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
