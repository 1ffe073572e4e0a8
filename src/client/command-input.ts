import type { CommandInput } from '../ports/sandbox-driver.ts'

/** What a command may be given to read. */
export type Stdin = string | Uint8Array | AsyncIterable<Uint8Array | string> | ReadableStream<Uint8Array>

/** What a command is given while it runs: the bytes of a source, and what is pushed in between. */
export interface InputFeed {
  readonly items: AsyncIterable<CommandInput>
  /** Goes before what is still to be read from the source. Resolves when it was taken; rejects after the end. */
  push(item: CommandInput): Promise<void>
  /** Nobody takes anything any more. */
  close(): void
}

const largestPiece = 65_536

/**
 * The source is read piece by piece, as the command takes them: never ahead. Signals come through while it is waited
 * for, and after its end.
 * @param source what the command reads; with `open`, all of it is pushed, the end too
 * @param onFailure told when the source fails, which is then over
 */
export function inputFeed(
  source: AsyncIterable<Uint8Array | string> | 'open',
  onFailure: (error: unknown) => void = () => undefined,
): InputFeed {
  const pushed: { item: CommandInput; taken: () => void; lost: (reason: Error) => void }[] = []
  let closed = false
  let news = Promise.withResolvers<void>()

  async function* items(): AsyncGenerator<CommandInput> {
    const pieces = source === 'open' ? undefined : piecesOf(source)
    let reading: Promise<CommandInput> | undefined
    let ended = pieces === undefined
    try {
      for (;;) {
        if (closed) return
        const next = pushed.shift()
        if (next !== undefined) {
          next.taken()
          yield next.item
          continue
        }
        news = Promise.withResolvers()
        if (!ended) reading ??= nextOf(pieces).catch((error: unknown) => (onFailure(error), { kind: 'end' }))
        const item = await Promise.race([news.promise, ...(reading === undefined ? [] : [reading])])
        if (item === undefined) continue
        reading = undefined
        ended = item.kind === 'end'
        yield item
      }
    } finally {
      close()
      // It may wait for something that never comes: nobody waits for that.
      void pieces?.return(undefined).catch(() => undefined)
    }
  }

  function push(item: CommandInput): Promise<void> {
    if (closed) return Promise.reject(new Error('the command has ended'))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    pushed.push({ item, taken: resolve, lost: reject })
    news.resolve()
    return promise
  }

  function close(): void {
    closed = true
    news.resolve()
    for (const { lost } of pushed.splice(0)) lost(new Error('the command has ended'))
  }

  return { items: { [Symbol.asyncIterator]: items }, push, close }
}

async function nextOf(pieces: AsyncGenerator<Uint8Array> | undefined): Promise<CommandInput> {
  const next = await pieces?.next()
  return next === undefined || next.done === true ? { kind: 'end' } : { kind: 'data', data: next.value }
}

export async function* piecesOf(source: AsyncIterable<Uint8Array | string>): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) {
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk
    for (let at = 0; at < bytes.length; at += largestPiece) yield bytes.subarray(at, at + largestPiece)
  }
}

/** A text or an array as a source, too. Without any there is nothing to read. */
export function sourceOf(stdin: Stdin | undefined): AsyncIterable<Uint8Array | string> {
  if (typeof stdin === 'object' && Symbol.asyncIterator in stdin) return stdin as AsyncIterable<Uint8Array | string>
  return only(stdin)
}

async function* only(chunk: string | Uint8Array | undefined): AsyncGenerator<string | Uint8Array> {
  if (chunk !== undefined) yield chunk
}
