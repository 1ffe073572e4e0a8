import { archiveRefused } from './refusals.ts'

/** Work that stops where it needs more bytes. */
export type Reading<T> = Generator<void, T, void>

/** Bytes that come in chunks of any size, read in pieces of any size. A piece is valid until the reading goes on. */
export interface Input {
  push(chunk: Buffer): void
  /** No more will come. */
  end(): void
  /** Exactly so many; undefined if there is nothing more at all. Less than that is `truncated`. */
  take(length: number): Reading<Buffer | undefined>
  /** At least one and at most so many. */
  some(most: number): Reading<Buffer>
}

export function newInput(): Input {
  /** Put together only when there is enough: they may be tiny. */
  const chunks: Buffer[] = []
  let available = 0
  let ended = false

  const isShort = (length: number): boolean => available < length

  const shift = (length: number): Buffer => {
    const [first = Buffer.alloc(0)] = chunks
    available -= length
    if (first.length > length) chunks[0] = first.subarray(length)
    else chunks.shift()
    return first.subarray(0, length)
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return
      chunks.push(chunk)
      available += chunk.length
    },
    end() {
      ended = true
    },
    *take(length) {
      for (; isShort(length); yield) {
        if (ended && isShort(1)) return undefined
        if (ended) throw truncated()
      }
      if ((chunks[0]?.length ?? 0) >= length) return shift(length)
      const pieces: Buffer[] = []
      for (let left = length; left > 0; left -= pieces.at(-1)?.length ?? 0)
        pieces.push(shift(Math.min(left, chunks[0]?.length ?? 0)))
      return Buffer.concat(pieces, length)
    },
    *some(most) {
      for (; isShort(1); yield) if (ended) throw truncated()
      return shift(Math.min(most, chunks[0]?.length ?? 0))
    },
  }
}

export const truncated = (): Error => archiveRefused('truncated', 'it ends too early')

/** The same, where something must follow. */
export function* readExactly(input: Input, length: number): Reading<Buffer> {
  return (yield* input.take(length)) ?? raise()
}

function raise(): never {
  throw truncated()
}
