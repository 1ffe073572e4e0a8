import * as fs from 'node:fs'
import { unless } from './errno.ts'
import { hostFs } from './host-fs.ts'

/**
 * The file beside the database in which SQLite writes what is committed. SQLite keeps the order of what it writes there
 * (`synchronous = NORMAL`) and waits for the disk only when it carries it over into the database. This is what waits
 * after a commit: on another thread, for several commits at once.
 */
export interface Wal extends Disposable {
  /** Resolves when all that was committed before is on the disk; also if this was closed since. */
  flushed(): Promise<void>
}

/** @param carryOver writes all that was committed into the database itself, and waits until it is on the disk. */
export function openWal(database: string, carryOver: () => void): Wal {
  const path = `${database}-wal`
  let fd: number | undefined
  let isClosed = false
  let isSuspect = false
  let running: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  async function flush(): Promise<void> {
    try {
      fd ??= unless(['ENOENT'], () => fs.openSync(path, fs.constants.O_RDONLY))
      if (fd !== undefined) await hostFs.fdatasync(fd)
    } catch {
      isSuspect = true
    } finally {
      if (isClosed) close()
    }
    if (!isSuspect) return
    // The kernel tells once of what it could not write, and then takes it for written. What the database has is safe.
    carryOver()
    isSuspect = false
  }
  function close(): void {
    if (fd !== undefined) fs.closeSync(fd)
    fd = undefined
  }
  const afterRunning = async (): Promise<void> => {
    await running.catch(() => undefined)
    next = undefined
    running = flush()
    return running
  }
  return {
    // One that is under way may have begun before the commit.
    flushed: () => (next ??= afterRunning()),
    [Symbol.dispose]() {
      isClosed = true
      void (next ?? running).then(close, close)
    },
  }
}
