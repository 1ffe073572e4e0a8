import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../domain/errors.ts'
import { hostFs } from './host-fs.ts'
import { type LockFile, openLockFile } from './lock-file.ts'

/**
 * A lock that the kernel releases when its holder ends, however it ends; on an empty file, to which nothing is ever
 * written. It excludes inside one process too, and a child does not inherit it.
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
  const opened = openLockFile(file)
  const until = performance.now() + spuriousMs
  // Two contenders can make each other fail though nobody holds the lock, so one refusal proves nothing.
  while (!opened.take(shared)) {
    if (performance.now() > until) return void opened.close()
    Atomics.wait(nobodyWakes, 0, 0, 0.1 + Math.random())
  }
  return holding(opened, file)
}

/** Waits for the lock; `undefined` when the time ran out, `aborted` when the signal fired. */
export async function lock(file: string, options: LockOptions = {}): Promise<HeldLock | undefined> {
  const { timeoutMs = Infinity, signal, shared = false } = options
  const opened = openLockFile(file)
  try {
    // The clock is asked only when somebody is in the way: its module takes 1.5 ms to load.
    let until: number | undefined
    let pauseMs = 0.5
    for (;;) {
      if (signal?.aborted) throw abortedBy(signal)
      if (opened.take(shared)) return holding(opened, file)
      until ??= performance.now() + timeoutMs
      const leftMs = until - performance.now()
      if (leftMs <= 0) return void opened.close()
      await sleep(Math.min(leftMs, pauseMs * (0.5 + Math.random())), undefined, { signal }).catch(() => undefined)
      pauseMs = Math.min(pauseMs * 1.5, 20)
    }
  } catch (error) {
    opened.close()
    throw error
  }
}

const spuriousMs = 5
const nobodyWakes = new Int32Array(new SharedArrayBuffer(4))

/** What is collected drops its lock, so what is held is reachable until it is given back. */
const held = new Set<LockFile>()

export interface HeldLock extends Disposable {
  /** Gives it back and removes its file: only for a name whose next holder will find nothing to do. */
  retire(): void
}

function holding(opened: LockFile, file: string): HeldLock {
  held.add(opened)
  const release = (): void => {
    if (held.delete(opened)) opened.close()
  }
  return {
    retire() {
      // Unlinked while it is held: nobody can be between opening this file and locking it without us.
      if (held.has(opened)) unlinkIfPresent(file)
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

const abortedBy = (signal: AbortSignal): AwError =>
  new AwError('aborted', 'Waiting for a lock was cancelled', { cause: signal.reason })
