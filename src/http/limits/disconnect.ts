import type { ServerResponse } from 'node:http'

/** They may have left before anybody looked. */
export function onDisconnect(response: ServerResponse, tell: () => void): void {
  if (response.socket === null || response.socket.destroyed) tell()
  else response.once('close', tell)
}

/**
 * The same items, until whoever listens lets go: then it ends with the reason, at once, and what makes the items is not
 * waited for, nor told.
 */
export async function* untilAborted<T>(items: AsyncIterable<T>, left: AbortSignal): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]()
  let fail: ((reason: unknown) => void) | undefined
  const leave = (): void => fail?.(left.reason)
  left.addEventListener('abort', leave)
  try {
    for (;;) {
      left.throwIfAborted()
      const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<T>>()
      fail = reject
      iterator.next().then(resolve, reject)
      const item = await promise
      if (item.done === true) return
      yield item.value
    }
  } finally {
    left.removeEventListener('abort', leave)
    if (!left.aborted) await iterator.return?.()
  }
}
