import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../domain/errors.ts'
import { crampedError } from './cramped.ts'
import { hostFs } from './host-fs.ts'
import { isBusy, sqliteError } from './sqlite-errors.ts'

/**
 * A lock that the kernel releases when its holder ends, however it ends. Node has no call for one, so an empty SQLite
 * file held in an exclusive transaction lends its own: nothing is ever written to it. It excludes inside one process
 * too, and a child does not inherit it.
 *
 * Whoever opens and closes a lock file by other means drops the lock of its own process (POSIX locks work so), and
 * removing one lets a second holder in: lock files are touched by this module alone, and stay until they are retired.
 */

export interface LockOptions {
  /** Held together with others that share it, and with nobody who does not. */
  readonly shared?: boolean | undefined
  /** How long to wait for the holder; for ever without it. */
  readonly timeoutMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/** The lock, or `undefined` if another has it. Blocks for a few milliseconds at the most. */
export function tryLock(file: string, { shared = false } = {}): HeldLock | undefined {
  const database = open(file)
  const until = performance.now() + spuriousMs
  // Two contenders can make each other fail though nobody holds the lock, so one refusal proves nothing.
  while (!take(database, file, shared)) {
    if (performance.now() > until) return give(database)
    Atomics.wait(nobodyWakes, 0, 0, 0.1 + Math.random())
  }
  return holding(database, file)
}

/** Waits for the lock; `undefined` when the time ran out, `aborted` when the signal fired. */
export async function lock(file: string, options: LockOptions = {}): Promise<HeldLock | undefined> {
  const { timeoutMs = Infinity, signal, shared = false } = options
  const database = open(file)
  try {
    // The clock is asked only when somebody is in the way: its module takes 1.5 ms to load.
    let until: number | undefined
    let pauseMs = 0.5
    for (;;) {
      if (signal?.aborted) throw abortedBy(signal)
      if (take(database, file, shared)) return holding(database, file)
      until ??= performance.now() + timeoutMs
      const leftMs = until - performance.now()
      if (leftMs <= 0) return give(database)
      await sleep(Math.min(leftMs, pauseMs * (0.5 + Math.random())), undefined, { signal }).catch(() => undefined)
      pauseMs = Math.min(pauseMs * 1.5, 20)
    }
  } catch (error) {
    give(database)
    throw error
  }
}

const spuriousMs = 5
const nobodyWakes = new Int32Array(new SharedArrayBuffer(4))

/** A connection that is collected drops its lock, so what is held is reachable until it is given back. */
const held = new Set<DatabaseSync>()

export interface HeldLock extends Disposable {
  /** Gives it back and removes its file: only for a name whose next holder will find nothing to do. */
  retire(): void
}

function holding(database: DatabaseSync, file: string): HeldLock {
  held.add(database)
  const release = (): void => {
    if (held.delete(database)) give(database)
  }
  return {
    retire() {
      // Unlinked while it is held: nobody can be between opening this file and locking it without us.
      if (held.has(database)) unlinkIfPresent(file)
      release()
    },
    [Symbol.dispose]: release,
  }
}

function unlinkIfPresent(file: string): void {
  try {
    hostFs.unlinkSync(file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  }
}

function open(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { timeout: 0 })
  } catch (error) {
    throw refused(error, file, 'The lock file cannot be opened')
  }
}

function take(database: DatabaseSync, file: string, shared: boolean): boolean {
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
}

const refused = (error: unknown, file: string, what: string): unknown =>
  crampedError(error, file, what) ?? sqliteError(error, what)

function give(database: DatabaseSync): undefined {
  if (database.isOpen) database.close()
}

const abortedBy = (signal: AbortSignal): AwError =>
  new AwError('aborted', 'Waiting for a lock was cancelled', { cause: signal.reason })
