import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../domain/errors.ts'
import { counted } from './crash-points.ts'
import { isBusy, sqliteError } from './sqlite-errors.ts'

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
  /** Runs it in a write transaction, once. Resolves when what it wrote is on the disk; if it throws, nothing is. */
  transaction<T>(work: () => T, waiting?: Waiting): Promise<T>
  /** Runs something that only reads; again if another process was in the way. */
  reading<T>(work: () => T, waiting?: Waiting): Promise<T>
  all(sql: string, ...cells: Cell[]): Row[]
  get(sql: string, ...cells: Cell[]): Row | undefined
  run(sql: string, ...cells: Cell[]): void
  /** Several statements without values. */
  script(sql: string): void
  readonly isOpen: boolean
}

export interface DatabaseOptions {
  readonly file: string
  readonly readOnly?: boolean | undefined
  /** How long to wait for other processes before `log_busy`. */
  readonly patienceMs?: number | undefined
}

export async function openDatabase(options: DatabaseOptions & Waiting): Promise<Database> {
  const { file, readOnly = false, patienceMs = 30_000, signal } = options
  const connection = open(file, readOnly)
  const patiently = <T>(work: () => T, waiting: Waiting = {}): Promise<T> =>
    withPatience(work, patienceMs, waiting.signal)
  try {
    await patiently(() => connection.exec(readOnly ? readerPragmas : writerPragmas), { signal })
  } catch (error) {
    connection.close()
    throw error
  }
  const statements = new Map<string, StatementSync>()
  const prepared = (sql: string): StatementSync => {
    const known = statements.get(sql)
    if (known) return known
    const fresh = connection.prepare(sql)
    statements.set(sql, fresh)
    return fresh
  }

  return {
    transaction(work, waiting) {
      // Only the first statement can meet another writer. From there on nothing is awaited: a second transaction of
      // this process would find itself inside the first.
      return patiently(() => {
        prepared('BEGIN IMMEDIATE').run()
        try {
          const result = work()
          calls.commit(prepared('COMMIT'))
          calls.committed()
          return result
        } catch (error) {
          if (connection.isTransaction) connection.exec('ROLLBACK')
          throw sqliteError(error, 'The log cannot be written')
        }
      }, waiting)
    },
    reading: patiently,
    all: (sql, ...cells) => prepared(sql).all(...cells) as Row[],
    get: (sql, ...cells) => prepared(sql).get(...cells) as Row | undefined,
    run: (sql, ...cells) => void prepared(sql).run(...cells),
    script: (sql) => connection.exec(sql),
    get isOpen() {
      return connection.isOpen
    },
    [Symbol.dispose]() {
      if (connection.isOpen) connection.close()
    },
  }
}

/** A crash test can stop just before the commit, and just after it while the caller does not know of it yet. */
const calls = counted({
  commit: (statement: StatementSync) => void statement.run(),
  committed: () => undefined,
})

/**
 * FULL: a commit is on the disk when it returns. A schema that somebody edited runs no functions (trusted_schema), and
 * damaged pages are noticed rather than trusted (cell_size_check).
 */
const readerPragmas = 'PRAGMA busy_timeout = 2; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON'
const writerPragmas = `${readerPragmas}; PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL`

function open(file: string, readOnly: boolean): DatabaseSync {
  try {
    return new DatabaseSync(file, { readOnly, allowExtension: false, enableDoubleQuotedStringLiterals: false })
  } catch (error) {
    throw sqliteError(error, 'The log cannot be opened')
  }
}

async function withPatience<T>(work: () => T, patienceMs: number, signal: AbortSignal | undefined): Promise<T> {
  // The clock is asked only when there is something to wait for: its module takes 1.5 ms to load.
  let until: number | undefined
  let pauseMs = 0.5
  for (;;) {
    if (signal?.aborted) throw new AwError('aborted', 'Waiting for the log was cancelled', { cause: signal.reason })
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw sqliteError(error, 'The log cannot be read')
      until ??= performance.now() + patienceMs
      if (performance.now() > until) throw tooBusy(patienceMs, error)
    }
    // Random, so that many writers do not meet again at the same instant.
    await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    pauseMs = Math.min(pauseMs * 1.5, 15)
  }
}

const tooBusy = (patienceMs: number, cause: unknown): AwError =>
  new AwError('log_busy', `Other processes held the log for ${patienceMs / 1000} s`, {
    hint: 'Try again; if it stays so, look for a process that holds the log open',
    cause,
  })
