import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../domain/errors.ts'
import { isBusy, sqliteError } from '../../../sys/locks/sqlite-errors.ts'

interface RetryOptions {
  /** The database that other processes use too. */
  readonly file: string
  /** How long they may hold it and write nothing. */
  readonly patienceMs: number
  readonly signal?: AbortSignal | undefined
}

/** How often one may have had to wait so long while others write: some time it is everybody's turn. */
const turns = 20

/**
 * Tries until no other process is in the way. As long as one of them gets on, nobody is stuck, and whoever gave up would
 * have been unlucky and nothing else: a hundred that start at once on two processors wait for each other for a minute.
 */
export async function retryWhileBusy<T>(work: () => T, { file, patienceMs, signal }: RetryOptions): Promise<T> {
  // The clock is asked only when there is something to wait for: its module takes 1.5 ms to load.
  let begun: number | undefined
  let since = 0
  let last: string | undefined
  let pauseMs = 0.5
  for (;;) {
    if (signal?.aborted) throw new AwError('aborted', 'Waiting for the log was cancelled', { cause: signal.reason })
    try {
      return work()
    } catch (error) {
      if (!isBusy(error)) throw sqliteError(error, 'The log cannot be read')
      const now = performance.now()
      begun ??= now
      const written = lastWritten(file)
      if (written !== last) since = now
      last = written
      if (now - since > patienceMs || now - begun > turns * patienceMs) throw tooBusy(now - begun, error)
    }
    // Random, so that many writers do not meet again at the same instant.
    await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    // Whoever looks more often takes the processor from the one that is waited for.
    pauseMs = Math.min(pauseMs * 1.5, 50)
  }
}

/** Another text after a commit, by whichever process. The file is not opened: to close it would drop SQLite's locks. */
function lastWritten(file: string): string {
  const found = statSync(`${file}-wal`, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeNs}`
}

const tooBusy = (ms: number, cause: unknown): AwError =>
  new AwError('log_busy', `Other processes held the log for ${(ms / 1000).toFixed(1)} s`, {
    hint: 'Try again; if it stays so, look for a process that holds the log open',
    cause,
  })
