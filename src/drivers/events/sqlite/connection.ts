import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { makeMappedFile } from './mapped-file.ts'
import { DatabaseSync } from '../../../sys/locks/sqlite.ts'

/**
 * NORMAL: a commit is written when it returns, and `wal.ts` waits until it is on the disk. A schema that somebody edited runs no functions (trusted_schema), and
 * damaged pages are noticed rather than trusted (cell_size_check).
 */
const readerPragmas = 'PRAGMA busy_timeout = 2; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON'
const writerPragmas = `${readerPragmas}; PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL`
/** Reads, so that what keeps the file from being read is met here. */
const look = 'PRAGMA schema_version'

/** Opens the file as usual: SQLite puts two files beside it, one of 32 KiB, whether one writes or only reads. */
export function connect(file: string, readOnly: boolean): DatabaseSync {
  makeMappedFile(`${file}-shm`)
  return opened(file, readOnly, readOnly ? `${readerPragmas}; ${look}` : writerPragmas)
}

/**
 * Opens it for reading where nothing can be written. What a process that died has left in the WAL is read as well; its
 * index is then made in memory. That needs both files to be there, if only empty; where one is missing and cannot be made,
 * and the WAL holds nothing, the file alone is the log.
 */
export function connectToRead(file: string): DatabaseSync {
  try {
    return opened(withOption(file, 'readonly_shm'), true, `${readerPragmas}; ${look}`)
  } catch (error) {
    if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) throw error
    return opened(withOption(file, 'immutable'), true, `${readerPragmas}; ${look}`)
  }
}

function opened(location: string | URL, readOnly: boolean, script: string): DatabaseSync {
  const options = { readOnly, allowExtension: false, enableDoubleQuotedStringLiterals: false }
  const connection = new DatabaseSync(location, options)
  try {
    connection.exec(script)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

function withOption(file: string, option: string): URL {
  const url = pathToFileURL(file)
  url.searchParams.set(option, '1')
  return url
}
