import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { AwError } from '../../../domain/errors.ts'
import { connect, connectToRead } from './connection.ts'
import { counted } from '../../../sys/fs/crash-points.ts'
import { diskFullError, writeObstacle } from '../../../sys/locks/disk-full.ts'
import { retryWhileBusy } from './retry-busy.ts'
import type { Reserve } from '../../../sys/fs/reserve.ts'
import { isBusy, sqliteError } from '../../../sys/locks/sqlite-errors.ts'
import { openWal, type Wal } from './wal.ts'

/** A value that SQLite stores. */
export type Cell = string | number | null
export type Row = Record<string, Cell>

export interface Waiting {
  readonly signal?: AbortSignal | undefined
}

/**
 * One connection. Work is done in synchronous functions, so whatever happens inside one is alone on the connection;
 * only the waiting for other processes is asynchronous.
 */
export interface Database extends Disposable {
  /**
   * Runs it in a write transaction. Resolves when what it wrote is on the disk, or with `later` when everybody sees it;
   * if it throws, nothing is. On a full disk it runs a second time, with the space that was kept for that, unless it
   * begins something that `grows`.
   */
  transaction<T>(work: () => T, options?: Waiting & TransactionOptions): Promise<T>
  /** Resolves when all that was written before is on the disk. */
  flushed(): Promise<void>
  /** Runs something that only reads; again if another process was in the way. */
  reading<T>(work: () => T, waiting?: Waiting): Promise<T>
  all(sql: string, ...cells: Cell[]): Row[]
  get(sql: string, ...cells: Cell[]): Row | undefined
  run(sql: string, ...cells: Cell[]): void
  /** Several statements without values. */
  script(sql: string): void
  /** Another one than before if another connection may have written since. */
  version(): string
  /** Nothing can be written here now, for want of space or because the file system is read-only. */
  readonly isCramped: boolean
  readonly isOpen: boolean
}

export interface TransactionOptions {
  readonly grows?: boolean | undefined
  readonly later?: boolean | undefined
}

export interface DatabaseOptions {
  readonly file: string
  readonly readOnly?: boolean | undefined
  /** How long other processes may hold it and write nothing before `log_busy`. */
  readonly patienceMs?: number | undefined
  /** What to give up when there is no space to write with. */
  readonly reserve?: Reserve | undefined
  /**
   * The process ends when this is closed. SQLite is not told: the last one to leave would carry everything over and wait
   * for the disk twice. Whoever comes next finds it as after a process that was killed, and little of it.
   */
  readonly shortLived?: boolean | undefined
}

/**
 * Where SQLite cannot put its files beside the database (the disk is full, or read-only), it is *cramped*: it reads with
 * a connection that needs none, opened anew each time, as such a one keeps every other of the process from writing; and
 * whenever it is used it looks whether things are better.
 */
export async function openDatabase(options: DatabaseOptions & Waiting): Promise<Database> {
  const { file, readOnly = false, patienceMs = 30_000, signal, reserve, shortLived = false } = options
  const patiently = <T>(work: () => T, waiting: Waiting = {}): Promise<T> =>
    retryWhileBusy(work, { file, patienceMs, signal: waiting.signal })
  const statements = new Map<string, StatementSync>()
  let connection: DatabaseSync | undefined
  let wal: Wal | undefined
  /** Where the last commit went. The connection may be another one since. */
  let written: Wal | undefined
  let commits = 0
  let mayLengthen = !shortLived
  let opened = 0
  let cramped = false
  let closed = false

  function detach(): void {
    statements.clear()
    wal?.[Symbol.dispose]()
    wal = undefined
    connection?.close()
    connection = undefined
  }
  function attach(toRead: boolean): DatabaseSync {
    if (closed) throw new AwError('invalid_state', 'This aw is closed', { hint: 'Open it again' })
    detach()
    cramped = true
    connection = toRead ? connectToRead(file) : connect(file, readOnly)
    cramped = toRead
    opened += 1
    if (!toRead && !readOnly) wal = openWal(file, carryOver)
    if (!toRead && shortLived) connection.exec(fewPages)
    return connection
  }
  function carryOver(): void {
    const answer = prepared('PRAGMA wal_checkpoint(FULL)').get()
    if (answer?.['busy'] !== 0) throw new AwError('filesystem_error', `${cannotWrite}: the disk does not take it`)
  }
  function attachAsPossible(): void {
    try {
      attach(false)
    } catch (error) {
      if (writeObstacle(error, file) === undefined) throw error
      attach(true)
    }
  }
  const current = (): DatabaseSync => connection ?? attach(cramped)
  const prepared = (sql: string): StatementSync => {
    const database = current()
    const known = statements.get(sql)
    if (known) return known
    const fresh = database.prepare(sql)
    statements.set(sql, fresh)
    return fresh
  }

  function readCramped<T>(work: () => T): T {
    attachAsPossible()
    try {
      return work()
    } finally {
      if (cramped && connection?.isTransaction === false) detach()
    }
  }
  /** Nothing is awaited in it: a second transaction of this process would find itself inside the first. */
  function inTransaction<T>(work: () => T): T {
    if (cramped) attach(false)
    prepared('BEGIN IMMEDIATE').run()
    try {
      const result = work()
      calls.commit(prepared('COMMIT'))
      written = wal
      commits += 1
      calls.committed()
      return result
    } catch (error) {
      if (connection?.isTransaction) connection.exec('ROLLBACK')
      throw sqliteError(error, cannotWrite)
    }
  }
  /** Says so if there is no space even now. */
  function told<T>(work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw isBusy(error) ? error : (diskFullError(error, file, cannotWrite) ?? error)
    }
  }
  function withReserve<T>(work: () => T): T {
    try {
      // What failed for want of space may have left the connection half open.
      attach(false)
      return work()
    } finally {
      reserve?.keep()
    }
  }

  /** Behind what was asked for, and step by step: it is worth some milliseconds to who goes on writing. */
  function lengthenWal(): void {
    if (closed || cramped || connection === undefined || wal === undefined) return
    try {
      connection.exec('BEGIN IMMEDIATE')
      const hasMore = wal.lengthen()
      connection.exec('ROLLBACK')
      if (hasMore) setImmediate(lengthenWal)
      else wal.flushed().catch(() => undefined)
    } catch {
      // Another process is writing, which makes it longer too.
    }
  }
  const flushed = async (): Promise<void> => {
    try {
      await written?.flushed()
    } catch (error) {
      throw sqliteError(error, cannotWrite)
    }
  }

  await patiently(attachAsPossible, { signal })
  return {
    async transaction(work, { grows = false, later = false, ...waiting } = {}) {
      const result = await patiently(() => {
        try {
          return inTransaction(work)
        } catch (error) {
          if (isBusy(error)) throw error
          const mayRelease = writeObstacle(error, file) === 'full' && !grows
          if (mayRelease && reserve?.release() === true) return told(() => withReserve(() => inTransaction(work)))
          throw diskFullError(error, file, cannotWrite) ?? error
        }
      }, waiting)
      if (!later) await flushed()
      if (commits >= manyCommits && mayLengthen) {
        mayLengthen = false
        setImmediate(lengthenWal)
      }
      return result
    },
    flushed,
    reading(work, waiting) {
      return patiently(() => {
        if (cramped) return readCramped(work)
        try {
          return work()
        } catch (error) {
          if (isBusy(error) || writeObstacle(error, file) === undefined) throw error
          return readCramped(work)
        }
      }, waiting)
    },
    all: (sql, ...cells) => prepared(sql).all(...cells) as Row[],
    get: (sql, ...cells) => prepared(sql).get(...cells) as Row | undefined,
    run: (sql, ...cells) => void prepared(sql).run(...cells),
    script: (sql) => current().exec(sql),
    version: () => `${opened}.${String(prepared('PRAGMA data_version').get()?.['data_version'])}`,
    get isCramped() {
      return cramped
    },
    get isOpen() {
      return !closed
    },
    [Symbol.dispose]() {
      closed = true
      if (!shortLived || cramped) detach()
    },
  }
}

const cannotWrite = 'The log cannot be written'

/** Whoever has done so many goes on for a while. */
const manyCommits = 8

/** What was written is read again by the next process: a tenth of a millisecond for so much. */
const fewPages = 'PRAGMA wal_autocheckpoint = 100'

/** A crash test can stop just before the commit, and just after it while the caller does not know of it yet. */
const calls = counted({
  commit: (statement: StatementSync) => void statement.run(),
  committed: () => undefined,
})
