import { AwError, toAwError } from '../domain/errors.ts'

/** Something that runs, writes, and comes to an end. */
export interface Running<C, R> {
  /**
   * What it writes, to be read once; a slow reader makes it wait. A reader that leaves the loop does not end it: what
   * else is written is thrown away. Throws what kept it from running.
   */
  readonly output: AsyncIterable<C>
  /** How it ended. Whoever waits for this without reading the output lets it be thrown away. */
  readonly end: Promise<R>
}

/**
 * Begins at once, and goes on until there is output that nobody reads.
 * @param chunkOf the output that an item is; undefined for other items
 * @param result asked once, after the last item
 */
export function running<T, C, R>(
  items: () => AsyncIterable<T>,
  chunkOf: (item: T) => C | undefined,
  result: () => R,
): Running<C, R> {
  const held = handover<C>()
  const { promise, resolve, reject } = Promise.withResolvers<R>()
  promise.catch(() => undefined)
  const follow = async (): Promise<void> => {
    try {
      for await (const item of items()) {
        const chunk = chunkOf(item)
        if (chunk !== undefined) await held.give(chunk)
      }
      resolve(result())
      held.end()
    } catch (thrown) {
      const error = toAwError(thrown)
      reject(error)
      held.end(error)
    }
  }
  void follow()
  return { output: held.output, end: noticed(promise, () => setImmediate(() => held.dropIfUnread())) }
}

/** A promise that tells when somebody begins to wait for it. */
function noticed<R>(promise: Promise<R>, onWait: () => void): Promise<R> {
  return {
    // oxlint-disable-next-line unicorn/no-thenable -- that it is waited for is what has to be known
    then: (onValue, onError) => (onWait(), promise.then(onValue, onError)),
    catch: (onError) => (onWait(), promise.catch(onError)),
    finally: (onEnd) => (onWait(), promise.finally(onEnd)),
    [Symbol.toStringTag]: 'Promise',
  }
}

interface Handover<C> {
  readonly output: AsyncIterable<C>
  /** Resolves when the chunk was taken, or thrown away. */
  give(chunk: C): Promise<void>
  end(error?: AwError): void
  dropIfUnread(): void
}

/** From hand to hand: one chunk is held, and no more. */
function handover<C>(): Handover<C> {
  let state: 'unread' | 'read' | 'dropped' = 'unread'
  let held: { readonly chunk: C; readonly taken: () => void } | undefined
  let over: { readonly error: AwError | undefined } | undefined
  let news = Promise.withResolvers<void>()

  const tell = (): void => {
    news.resolve()
    news = Promise.withResolvers()
  }

  function drop(): void {
    state = 'dropped'
    held?.taken()
    held = undefined
  }

  async function* read(): AsyncGenerator<C> {
    try {
      for (;;) {
        const { chunk, taken } = held ?? {}
        if (taken !== undefined) {
          held = undefined
          try {
            yield chunk as C
          } finally {
            taken()
          }
        } else if (over !== undefined) {
          if (over.error !== undefined) throw over.error
          return
        } else await news.promise
      }
    } finally {
      drop()
    }
  }

  return {
    output: {
      [Symbol.asyncIterator]() {
        if (state !== 'unread')
          throw new AwError('invalid_state', 'The output has been read already, or thrown away', {
            hint: 'Read it before or while waiting for the end',
          })
        state = 'read'
        return read()
      },
    },
    give: async (chunk) => {
      if (state === 'dropped') return
      const { promise, resolve } = Promise.withResolvers<void>()
      held = { chunk, taken: resolve }
      tell()
      await promise
    },
    end: (error) => {
      over = { error }
      tell()
    },
    dropIfUnread: () => {
      if (state === 'unread') drop()
    },
  }
}
