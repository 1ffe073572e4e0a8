type Method = (...given: never[]) => Promise<unknown> | AsyncIterable<unknown>

/** The methods of a port that answer with a stream. */
type StreamsOf<T> = { [K in keyof T]: T[K] extends (...given: never[]) => Promise<unknown> ? never : K }[keyof T]

/**
 * A driver that few calls need: it is loaded by the first of them, once.
 * @param streams its methods that answer with a stream instead of a promise
 */
export function lazy<T extends Record<keyof T, Method>>(load: () => Promise<T>, ...streams: StreamsOf<T>[]): T {
  let loaded: Promise<T> | undefined
  const driver = (): Promise<T> => (loaded ??= load())
  return new Proxy({} as T, {
    get(_, key) {
      // Whatever is awaited is asked for this first, and would call it: what has one is taken for a promise.
      if (key === 'then' || typeof key === 'symbol') return undefined
      const name = key as keyof T
      if (!streams.includes(name as StreamsOf<T>)) return async (...given: never[]) => (await driver())[name](...given)
      return async function* (...given: never[]) {
        yield* (await driver())[name](...given) as AsyncIterable<unknown>
      }
    },
  })
}
