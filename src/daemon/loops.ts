import { toAwError } from '../domain/errors.ts'
import { maxTimerMs } from '../domain/text/max-values.ts'
import { newCorrelationId } from '../http/trace.ts'
import type { IdempotencyStore } from '../ports/idempotency-store.ts'
import type { Manager } from '../ports/manager.ts'
import type { Log } from './log.ts'

export interface Loops {
  readonly manager: Manager
  readonly answers: IdempotencyStore
  readonly noteTime: () => Promise<void>
  readonly gcMinutes: number
  /** Puts the socket of the home back if it is gone. */
  readonly reopen: () => Promise<boolean>
  /** Begins the daemon's own log anew if it has grown long. */
  readonly turnLog: () => boolean
  readonly log: Log
  readonly signal: AbortSignal
}

const minute = 60_000
const answersLast = 24 * 60 * minute

/**
 * What is done again and again as long as the daemon runs. `gc` takes the lock of the janitor, so that no other process
 * does the same at the same time; one that is busy with it is left to it.
 */
export function startLoops({ manager, answers, noteTime, gcMinutes, reopen, turnLog, log, signal }: Loops): Disposable {
  const timers = new Set<NodeJS.Timeout>()
  const every = (ms: number, name: string, work: (correlationId: string) => Promise<unknown>): void => {
    const tick = async (): Promise<void> => {
      const correlationId = newCorrelationId()
      const about = { loop: name, correlation_id: correlationId }
      try {
        const done = await work(correlationId)
        if (done !== undefined) log({ ...about, ...(done as object) })
      } catch (error) {
        const { code, message } = toAwError(error)
        if (code !== 'workspace_busy' && code !== 'aborted') log({ ...about, code, error: message })
      }
      if (!signal.aborted) plan()
    }
    const plan = (): void => {
      const timer = setTimeout(
        () => {
          timers.delete(timer)
          void tick()
        },
        Math.min(ms, maxTimerMs),
      )
      timer.unref()
      timers.add(timer)
    }
    plan()
  }
  if (gcMinutes > 0)
    every(gcMinutes * minute, 'gc', async (correlationId) => {
      const { items, bytes } = await manager.call('gc', {}, { signal, actor: 'daemon', correlationId })
      return items.length === 0 ? undefined : { items: items.length, bytes }
    })
  every(10 * minute, 'seal', async (correlationId) => {
    await manager.call('audit seal', {}, { signal, actor: 'daemon', correlationId })
    return undefined
  })
  // Without it nobody finds the daemon, not even to end it.
  every(2_000, 'socket', async () => ((await reopen()) ? { reopened: true } : undefined))
  every(minute, 'log', async () => (turnLog() ? { turned: true } : undefined))
  every(minute, 'time', noteTime)
  every(60 * minute, 'answers', async () => {
    const removed = await answers.sweep(new Date(Date.now() - answersLast))
    return removed === 0 ? undefined : { removed }
  })
  return {
    [Symbol.dispose]() {
      for (const timer of timers) clearTimeout(timer)
    },
  }
}
