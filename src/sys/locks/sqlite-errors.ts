import { AwError, type ErrorCode } from '../../domain/errors.ts'

/** The primary result codes of SQLite that we tell apart; the extended ones carry them in their low byte. */
const codes: Readonly<Record<number, ErrorCode>> = {
  3: 'permission_denied', // SQLITE_PERM
  8: 'permission_denied', // SQLITE_READONLY
  10: 'filesystem_error', // SQLITE_IOERR
  11: 'log_damaged', // SQLITE_CORRUPT
  13: 'disk_full', // SQLITE_FULL
  14: 'filesystem_error', // SQLITE_CANTOPEN
  23: 'permission_denied', // SQLITE_AUTH
  26: 'log_damaged', // SQLITE_NOTADB
}

const hints: Partial<Record<ErrorCode, string>> = {
  disk_full: 'Free some space on the disk of the home; nothing of this was stored',
  log_damaged: 'Run: aw audit verify',
}

/** 0 for what SQLite did not say. */
export const primaryCode = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0

/** SQLite refused: whatever it says, it says about the file or the statement. */
export const isSqliteError = (error: unknown): boolean => primaryCode(error) !== 0

/** Another connection holds a lock (SQLITE_BUSY, SQLITE_LOCKED, or SQLITE_PROTOCOL: a race while the WAL is opened). */
export const isBusy = (error: unknown): boolean => [5, 6, 15].includes(primaryCode(error))

/** Gives a failure of SQLite one of our codes; every other error passes as it is. */
export function sqliteError(error: unknown, what: string): unknown {
  const number = primaryCode(error)
  if (number === 0) return error
  const { message } = error as Error
  const code = codes[number] ?? 'internal'
  const hint = hints[code]
  const details = { data: { sqlite: number }, cause: error }
  return new AwError(code, `${what}: ${message}`, hint === undefined ? details : { ...details, hint })
}
