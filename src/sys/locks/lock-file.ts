import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs'
import { AwError } from '../../domain/errors.ts'
import { diskFullError } from './disk-full.ts'
import { hasCode } from '../syscalls/errno.ts'
import { isNativeLoaded, native, RANGE_LOCK, type Native } from '../syscalls/native.ts'
import { DatabaseSync } from './sqlite.ts'
import { isBusy, sqliteError } from './sqlite-errors.ts'

/** A lock file that is open. What is taken is given back by closing it, at the latest when the process ends. */
export interface LockFile {
  /** False if another has it. */
  take(shared: boolean): boolean
  /** False if the file was removed since, also if there is another in its place: a newcomer would not meet this one. */
  isCurrent(): boolean
  close(): void
}

/**
 * Opens one in one of two ways that exclude each other: the kernel's own lock on a part of the file, by a call that Node
 * does not have; or, where that is not loaded, the same part of the file as SQLite locks it, which comes with Node.
 *
 * A process keeps to the way it began with: closing a file by the first would drop a lock held by the second.
 */
export function openLockFile(file: string): LockFile {
  calls ??= isNativeLoaded() ? native() : null
  try {
    return calls ? byKernel(file, calls) : bySqlite(file)
  } catch (error) {
    throw refused(error, file, 'The lock file cannot be opened')
  }
}

let calls: Native | null | undefined

/** Where SQLite puts its locks: a byte for those who wait, one for who intends to write, and 510 that readers share. */
const whole = [0x4000_0000, 512] as const
const readers = [0x4000_0002, 510] as const

function byKernel(file: string, kernel: Native): LockFile {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = constants
  const fd = openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0o644)
  let open = true
  return {
    take(shared) {
      try {
        if (shared) kernel.lockRange(fd, RANGE_LOCK.SHARED, ...readers)
        else kernel.lockRange(fd, RANGE_LOCK.EXCLUSIVE, ...whole)
        return true
      } catch (error) {
        if (hasCode(error, 'EAGAIN', 'EWOULDBLOCK', 'EACCES')) return false
        throw refused(error, file, 'The lock cannot be taken')
      }
    },
    isCurrent: () => idOf(fstatSync(fd, { bigint: true })) === idAt(file),
    close() {
      if (!open) return
      open = false
      // A child that was just begotten has the descriptor too, until it becomes another program.
      kernel.lockRange(fd, RANGE_LOCK.NONE, ...whole)
      closeSync(fd)
    },
  }
}

/** Tells a file from one that was made later in its place, even if that has its number again. */
const idOf = ({ dev, ino, birthtimeNs }: BigIntStats): string => `${dev} ${ino} ${birthtimeNs}`

function idAt(file: string): string | undefined {
  const found = lstatSync(file, { bigint: true, throwIfNoEntry: false })
  return found && idOf(found)
}

/** SQLite does not tell which file it has opened: it is the one that was there before and still is afterwards. */
function openDatabase(file: string): { database: DatabaseSync; id: string } {
  for (let attempt = 0; attempt < 100; attempt++) {
    const before = idAt(file)
    const database = new DatabaseSync(file, { timeout: 0 })
    const id = idAt(file)
    if (id !== undefined && id === before) return { database, id }
    database.close()
  }
  throw new Error('it is another file each time')
}

function bySqlite(file: string): LockFile {
  const { database, id } = openDatabase(file)
  return {
    take(shared) {
      try {
        // Without the pragma a journal file would stand beside the lock. A transaction that has read something shares it.
        const begin = shared ? 'BEGIN; SELECT count(*) FROM sqlite_schema' : 'BEGIN EXCLUSIVE'
        database.exec(`PRAGMA journal_mode = MEMORY; ${begin}`)
        return true
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK')
        if (isBusy(error)) return false
        throw refused(error, file, 'The lock cannot be taken')
      }
    },
    isCurrent: () => id === idAt(file),
    close() {
      if (database.isOpen) database.close()
    },
  }
}

function refused(error: unknown, file: string, what: string): unknown {
  const told = diskFullError(error, file, what) ?? sqliteError(error, what)
  if (told instanceof AwError) return told
  const { message } = error as Error
  return new AwError('filesystem_error', `${what}: ${message}`, { data: { path: file }, cause: error })
}
