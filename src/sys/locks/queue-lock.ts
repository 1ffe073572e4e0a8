import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '../syscalls/errno.ts'
import { monotonicMs } from '../home/monotonic.ts'
import { native, RANGE_LOCK } from '../syscalls/native.ts'

/**
 * A lock that is handed over in the order in which it was asked for, between processes and inside one. The kernel releases
 * it when its holder ends, however it ends, and a waiter's place in the queue likewise.
 *
 * Each lock is a row of bytes of one file. Whoever holds byte 0 has the lock. Newcomers take the last byte and move
 * towards the first, one byte at a time, as those ahead of them do: so nobody overtakes.
 *
 * @param key which lock of the file; below 2^40
 * @returns undefined if nobody ahead moved for `patienceMs`, however long the queue is that moves
 */
export async function waitForTurn(
  file: string,
  key: number,
  { patienceMs }: { readonly patienceMs: number },
): Promise<Disposable | undefined> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = fs.constants
  const fd = fs.openSync(file, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
  const first = key * places
  const leave = (): void => {
    // A forked child shares this descriptor until it execs.
    release(fd, first, places)
    fs.closeSync(fd)
  }
  try {
    let waitedMs = 0
    for (let at = first + places; at > first;) {
      if (take(fd, at - 1)) {
        if (at < first + places) release(fd, at, 1)
        at -= 1
        waitedMs = 0
        continue
      }
      if (waitedMs > patienceMs) return void leave()
      const before = monotonicMs()
      // Those far behind have time.
      await sleep((at - first > 2 ? 15 : 3) * (0.5 + Math.random()))
      // On a machine that stalls, those ahead stall too.
      waitedMs += Math.min(monotonicMs() - before, longestStepMs)
    }
    return { [Symbol.dispose]: leave }
  } catch (error) {
    leave()
    throw error
  }
}

const longestStepMs = 100

/** Those beyond it wait at the last byte, in no order. */
const places = 256

function take(fd: number, byte: number): boolean {
  try {
    native()?.lockRange(fd, RANGE_LOCK.EXCLUSIVE, byte, 1)
    return true
  } catch (error) {
    if (hasCode(error, 'EAGAIN', 'EWOULDBLOCK', 'EACCES')) return false
    throw error
  }
}

const release = (fd: number, byte: number, count: number): void => native()?.lockRange(fd, RANGE_LOCK.NONE, byte, count)
