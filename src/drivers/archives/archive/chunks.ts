import { blockSize, padded } from '../../../domain/archive/tar-header.ts'

/** Bytes that are put together into large chunks, so that what takes them is not called for each small thing. */
export interface Chunks {
  /** Room for so many bytes in one piece, to be filled at once. */
  reserve(length: number): Buffer
  put(bytes: Buffer): void
  /** Zeros up to a whole block, after so many bytes of content. */
  fill(length: number): void
  /** Those that are full, or all of them. */
  take(all?: 'all'): Buffer[]
}

export const chunkSize = 256 * 1024

export function newChunks(): Chunks {
  let full: Buffer[] = []
  let chunk = Buffer.allocUnsafeSlow(chunkSize)
  let used = 0

  const reserve = (length: number): Buffer => {
    if (used + length > chunkSize) {
      full.push(chunk.subarray(0, used))
      chunk = Buffer.allocUnsafeSlow(chunkSize)
      used = 0
    }
    used += length
    return chunk.subarray(used - length, used)
  }
  const put = (bytes: Buffer): void => {
    for (let at = 0; at < bytes.length; at += chunkSize) {
      const part = bytes.subarray(at, at + chunkSize)
      part.copy(reserve(part.length))
    }
  }
  return {
    reserve,
    put,
    fill: (length) => put(zeros.subarray(0, padded(length) - length)),
    take(all) {
      if (all && used > 0) reserve(chunkSize + 1 - used)
      const taken = full
      full = []
      return taken
    },
  }
}

const zeros = Buffer.alloc(blockSize)
