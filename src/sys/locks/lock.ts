import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../domain/errors.ts'
import { hostFs } from '../fs/host-fs.ts'
import { type LockFile, openLockFile } from './lock-file.ts'
import { monotonicMs } from '../home/monotonic.ts'

/**
 * A lock that the kernel releases when its holder ends, however it ends; on an empty file, to which nothing is ever
 * written. It excludes inside one process too, and a child does not inherit it.
 *
 * Whoever opens and closes a lock file by other means drops the lock of its own process (POSIX locks work so): lock
 * files are touched by this module alone, and stay until they are retired. Whoever waited for one that was retired, or
 * opened it a moment before, has locked a file that nobody else will find: it opens the one that is there now.
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
  let opened = openLockFile(file)
  const until = monotonicMs() + spuriousMs
  // Two contenders can make each other fail though nobody holds the lock, so one refusal proves nothing.
  for (;;) {
    const taken = opened.take(shared)
    if (taken && opened.isCurrent()) return holding(opened, file)
    if (monotonicMs() > until) return void opened.close()
    if (taken) opened = reopened(opened, file)
    else Atomics.wait(nobodyWakes, 0, 0, 0.1 + Math.random())
  }
}

function reopened(retired: LockFile, file: string): LockFile {
  retired.close()
  return openLockFile(file)
}

/** Waits for the lock; `undefined` when the time ran out, `aborted` when the signal fired. */
export async function lock(file: string, options: LockOptions = {}): Promise<HeldLock | undefined> {
  const { timeoutMs = Infinity, signal, shared = false } = options
  let opened = openLockFile(file)
  try {
    let until: number | undefined
    let pauseMs = 0.5
    for (;;) {
      if (signal?.aborted) throw abortedBy(signal)
      const taken = opened.take(shared)
      if (taken && opened.isCurrent()) return holding(opened, file)
      if (taken) {
        opened = reopened(opened, file)
        continue
      }
      until ??= monotonicMs() + timeoutMs
      const leftMs = until - monotonicMs()
      if (leftMs <= 0) return void opened.close()
      await sleep(Math.min(leftMs, pauseMs * (0.5 + Math.random())), undefined, { signal }).catch(() => undefined)
      pauseMs = Math.min(pauseMs * 1.5, 50)
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
  /** Gives it back and removes its file: for a name that is hardly used again. Not for a lock that is shared. */
  retire(): void
}

function holding(opened: LockFile, file: string): HeldLock {
  held.add(opened)
  const release = (): void => {
    if (held.delete(opened)) opened.close()
  }
  return {
    retire() {
      // Unlinked while it is held: whoever locks it after us finds that it is not there any more.
      if (held.has(opened) && opened.isCurrent()) unlinkIfPresent(file)
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
