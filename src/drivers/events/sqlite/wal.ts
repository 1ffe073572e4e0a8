import * as fs from 'node:fs'
import { ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { fileSystemOf } from '../../../sys/fs/file-system.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'

/**
 * The file beside the database in which SQLite writes what is committed. SQLite keeps the order of what it writes there
 * (`synchronous = NORMAL`) and waits for the disk only when it carries it over into the database. This is what waits
 * after a commit: on another thread, for several commits at once.
 */
export interface Wal extends Disposable {
  /** Resolves when all that was committed before is on the disk; also if this was closed since. */
  flushed(): Promise<void>
  /**
   * Brings the file nearer to the length that it will have, with zeros, which SQLite takes for what was there before it began anew. For
   * who writes much: where a file system writes in place, what is written over is on the disk sooner than what makes a
   * file longer, as nothing has to be noted about it (0.2 ms, not 0.7). Only for who may write to the database now, and
   * only where there is room to spare; whether it was done is of no matter. True if there is more to do.
   */
  lengthen(): boolean
}

/** SQLite begins anew after 1000 pages, or a little later. */
const wholeBytes = 32 + 1100 * (24 + 4096)
/** So much takes a fraction of a millisecond. */
const stepBytes = 256 * 1024
const roomToSpare = 256 * 1024 * 1024
/** Those that write in place. */
const inPlace = new Set(['ext4', 'xfs'])

function lengthen(path: string): boolean {
  const { bavail, bsize } = fs.statfsSync(path)
  if (!inPlace.has(fileSystemOf(path)) || bavail * bsize < roomToSpare) return false
  const fd = fs.openSync(path, fs.constants.O_WRONLY | fs.constants.O_NOFOLLOW)
  try {
    const { size } = fs.fstatSync(fd)
    const bytes = Math.min(wholeBytes - size, stepBytes)
    if (bytes > 0) hostFs.writeSync(fd, Buffer.alloc(bytes), size)
    return size + bytes < wholeBytes
  } finally {
    fs.closeSync(fd)
  }
}

/** @param carryOver writes all that was committed into the database itself, and waits until it is on the disk. */
export function openWal(database: string, carryOver: () => void): Wal {
  const path = `${database}-wal`
  let fd: number | undefined
  let isClosed = false
  let isSuspect = false
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  async function flush(): Promise<void> {
    try {
      fd ??= ignoreErrors(['ENOENT'], () => fs.openSync(path, fs.constants.O_RDONLY))
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
  function begin(): Promise<void> {
    const flushing = flush().finally(() => {
      if (running === flushing) running = undefined
    })
    return (running = flushing)
  }
  const afterwards = async (underWay: Promise<void>): Promise<void> => {
    await underWay.catch(() => undefined)
    next = undefined
    return begin()
  }
  return {
    // One that is under way may have begun before the commit. Else the disk is at work before anybody goes on.
    flushed: () => (running === undefined ? begin() : (next ??= afterwards(running))),
    lengthen() {
      try {
        return lengthen(path)
      } catch {
        // It grows as it is written to.
        return false
      }
    },
    [Symbol.dispose]() {
      isClosed = true
      void (next ?? running ?? Promise.resolve()).then(close, close)
    },
  }
}
