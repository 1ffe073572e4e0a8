/** What comes in until somebody asks for it. */
export interface AsyncQueue<T> {
  put(item: T): void
  /** Nothing more comes. */
  close(): void
  /** The oldest; undefined when there is nothing, and nothing more comes. */
  next(): Promise<T | undefined>
  readonly size: number
}

/** @param taken told of each item that was asked for, and of how many are left */
export function asyncQueue<T>(taken: (left: number) => void = () => undefined): AsyncQueue<T> {
  const items: T[] = []
  let isClosed = false
  let waiting: PromiseWithResolvers<void> | undefined
  const wake = (): void => {
    waiting?.resolve()
    waiting = undefined
  }
  return {
    put(item) {
      items.push(item)
      wake()
    },
    close() {
      isClosed = true
      wake()
    },
    async next() {
      if (items.length === 0 && !isClosed) {
        waiting ??= Promise.withResolvers<void>()
        await waiting.promise
      }
      const item = items.shift()
      taken(items.length)
      return item
    },
    get size() {
      return items.length
    },
  }
}
