/**
 * What arrives faster than it is read, in order. The sender keeps to the credit that it was given, so what waits here is
 * never more than that; `onRead` is told how many bytes are no longer waiting, for new credit.
 */
export interface Incoming<T> {
  push(item: T, bytes: number): void
  /** Nothing more comes; with an error the reader meets it after what has come. */
  end(error?: Error): void
  /** Read once. Whoever stops reading early lets the rest be thrown away as it comes. */
  readonly items: AsyncIterable<T>
}

export function incoming<T>(onRead: (bytes: number) => void): Incoming<T> {
  const waiting: { item: T; bytes: number }[] = []
  let over: { error?: Error | undefined } | undefined
  let dropped = false
  let wake: (() => void) | undefined

  const drop = (): void => {
    dropped = true
    for (const { bytes } of waiting.splice(0)) onRead(bytes)
  }

  async function next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const first = waiting.shift()
      if (first !== undefined) {
        onRead(first.bytes)
        return { done: false, value: first.item }
      }
      if (dropped || over !== undefined) {
        if (over?.error !== undefined && !dropped) throw over.error
        return { done: true, value: undefined }
      }
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }

  const iterator: AsyncIterator<T> = {
    next,
    return: () => {
      drop()
      return Promise.resolve({ done: true, value: undefined })
    },
  }
  return {
    push(item, bytes) {
      if (dropped) return onRead(bytes)
      waiting.push({ item, bytes })
      wake?.()
    },
    end(error) {
      over ??= { error }
      wake?.()
    },
    items: { [Symbol.asyncIterator]: () => iterator },
  }
}
