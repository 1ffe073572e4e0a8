import { setImmediate } from 'node:timers/promises'

/** Work in small steps, to be run at once or with pauses. */
export type Coroutine<T> = Generator<void, T, void>

export function runToCompletion<T>(steps: Coroutine<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

/** Seconds. The clock of `process`, as that of `performance` takes 1.5 ms to load. */
const slice = 0.01

/** Lets others have the event loop every few milliseconds. When aborted, the steps clean up and end. */
export async function runYielding<T>(steps: Coroutine<T>, signal?: AbortSignal): Promise<T> {
  try {
    for (let since = process.uptime(); ;) {
      const step = steps.next()
      if (step.done) return step.value
      if (process.uptime() - since < slice) continue
      await setImmediate()
      signal?.throwIfAborted()
      since = process.uptime()
    }
  } finally {
    steps.return(undefined as T)
  }
}
