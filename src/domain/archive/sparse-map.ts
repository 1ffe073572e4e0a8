import { maxSegments, maxSparseBytes } from './limits.ts'
import { archiveRefused } from './refusals.ts'
import { blockSize, padded } from './tar-header.ts'

/** A part of a file that is not a hole. */
export interface Segment {
  readonly offset: number
  readonly length: number
}

/**
 * Where the data of a file with holes is: GNU's format 1.0, which stands before the data. Decimal numbers, each with a
 * line feed: how many segments, then of each its offset and length; zeros up to a whole block. A file that ends with a
 * hole has an empty segment at its end.
 */
export function encodeSparseMap(segments: readonly Segment[], size: number): Buffer {
  const last = segments.at(-1)
  const all = last && last.offset + last.length === size ? segments : [...segments, { offset: size, length: 0 }]
  const text = [all.length, ...all.flatMap(({ offset, length }) => [offset, length])].map((one) => `${one}\n`).join('')
  const map = Buffer.alloc(padded(text.length))
  map.write(text, 'latin1')
  return map
}

/** Takes a map block by block. */
export interface SparseMapReader {
  /** The segments, when the map is complete. They are in order, do not overlap, and are within the size. */
  push(block: Buffer): readonly Segment[] | undefined
  readonly bytes: number
}

export function sparseMapReader(size: number): SparseMapReader {
  let [text, bytes] = ['', 0]
  const numbers: number[] = []
  let wanted = 1
  const wrong = (): Error => archiveRefused('sparse_map', 'a map of holes in it is damaged')

  const count = (digits: string): void => {
    const value = Number(digits)
    if (!/^[0-9]{1,16}$/.test(digits) || !Number.isSafeInteger(value)) throw wrong()
    numbers.push(value)
    if (numbers.length > 1) return
    if (value > maxSegments) throw wrong()
    wanted += 2 * value
  }

  return {
    get bytes() {
      return bytes
    },
    push(block) {
      bytes += block.length
      if (bytes > maxSparseBytes) throw wrong()
      text += block.toString('latin1')
      let at = 0
      for (let end = text.indexOf('\n'); end !== -1 && numbers.length < wanted; end = text.indexOf('\n', at)) {
        count(text.slice(at, end))
        at = end + 1
      }
      text = text.slice(at)
      if (numbers.length < wanted) {
        if (text.length > blockSize) throw wrong()
        return undefined
      }
      if (/[^\0]/.test(text)) throw wrong()
      return segmentsOf(numbers.slice(1), size) ?? raise(wrong())
    },
  }
}

function segmentsOf(numbers: readonly number[], size: number): Segment[] | undefined {
  const segments: Segment[] = []
  let end = 0
  for (let at = 0; at < numbers.length; at += 2) {
    const [offset = 0, length = 0] = [numbers[at], numbers[at + 1]]
    if (offset < end || offset + length > size) return undefined
    end = offset + length
    segments.push({ offset, length })
  }
  return segments
}

function raise(error: Error): never {
  throw error
}

/** As few segments as can be read again: the smallest holes are filled first. */
export function joinSegments(segments: readonly Segment[], mostOf = maxSegments - 1): readonly Segment[] {
  let joined = segments
  for (let gap = 4096; joined.length > mostOf; gap *= 2) {
    const next: { offset: number; length: number }[] = []
    for (const { offset, length } of joined) {
      const last = next.at(-1)
      if (last && offset - last.offset - last.length <= gap) last.length = offset + length - last.offset
      else next.push({ offset, length })
    }
    joined = next
  }
  return joined
}
