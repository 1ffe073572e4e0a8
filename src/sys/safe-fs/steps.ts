import { setImmediate } from 'node:timers/promises'

/** Work in small steps, to be run at once or with pauses. */
export type Steps<T> = Generator<void, T, void>

export function runAll<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}

const sliceMs = 10

/** Lets others have the event loop every few milliseconds. When aborted, the steps clean up and end. */
export async function runPolitely<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  try {
    for (let since = performance.now(); ;) {
      const step = steps.next()
      if (step.done) return step.value
      if (performance.now() - since < sliceMs) continue
      await setImmediate()
      signal?.throwIfAborted()
      since = performance.now()
    }
  } finally {
    steps.return(undefined as T)
  }
}
