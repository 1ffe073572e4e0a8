import { appendFileSync, closeSync, fdatasync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'

/** The least that a log is: a line goes into SQLite, and then to the disk. */
export interface HandLog extends Disposable {
  /** Resolves when the line is on the disk. */
  line(): Promise<void>
}

const flush = promisify(fdatasync)

export function openHandLog(file: string): HandLog {
  const database = new DatabaseSync(file)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE lines (text TEXT)')
  const insert = database.prepare('INSERT INTO lines VALUES (?)')
  insert.run('the first makes the file')
  // As ours, it is written over, and does not grow.
  appendFileSync(`${file}-wal`, Buffer.alloc(4_500_000))
  const wal = openSync(`${file}-wal`, 'r')
  const text = 'x'.repeat(1000)
  return {
    line() {
      insert.run(text)
      return flush(wal)
    },
    [Symbol.dispose]() {
      closeSync(wal)
      database.close()
    },
  }
}
