import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { type Native, native } from '../syscalls/native.ts'
import type { Coroutine } from '../safe-fs/coroutine.ts'
import { nextData } from './same-bytes.ts'

/**
 * What stands for the content of a file: SHA-256 of its bytes, as 64 hexadecimal digits.
 *
 * A file may say that it has a terabyte and hold nothing. So whole blocks of 64 KiB (at multiples of that) that are all
 * zeros are left out; if there is one, the content is named by an `s` and the hash of the other bytes with a list behind
 * them of where the zeros are. Which of the two it is depends on the content alone and not on how it lies on the disk,
 * so equal contents have equal names; and no plain content can be made that has the name of one with zeros.
 */
interface Hashed {
  readonly hash: string
  readonly bytes: number
}

const blockSize = 64 * 1024
const chunkSize = 16 * blockSize
const zeros = Buffer.alloc(blockSize)
let chunk: Buffer | undefined

type OnData = (bytes: Buffer, position: number) => void

/**
 * Hashes an open file from its beginning to its end, a part in each step. `onData` is told all that is not left out, so
 * that the very bytes that are hashed can be written elsewhere.
 */
export function* hashSteps(fd: number, onData?: OnData): Coroutine<Hashed> {
  const buffer = (chunk ??= Buffer.allocUnsafeSlow(chunkSize))
  const { size, blocks } = fs.fstatSync(fd)
  const calls = blocks * 512 < size ? native() : undefined
  const sum = createHash('sha256')
  const holes = newHoles()
  for (let position = 0; ;) {
    if (calls) position = skipHole(calls, fd, position, size, holes)
    const got = fs.readSync(fd, buffer, 0, chunkSize, position)
    for (let at = 0; at < got; at += blockSize) {
      const block = buffer.subarray(at, Math.min(at + blockSize, got))
      if (block.length === blockSize && block.equals(zeros)) holes.add(position + at, position + at + blockSize)
      else {
        sum.update(block)
        onData?.(block, position + at)
      }
    }
    position += got
    // Less than was asked for is the end of the file.
    if (got < chunkSize) return { hash: holes.seal(sum, position), bytes: position }
    yield
  }
}

/** Over whole blocks only: the rest of a last one counts as data. */
function skipHole(calls: Native, fd: number, position: number, size: number, holes: Holes): number {
  const data = Math.min(nextData(calls, fd, position), size)
  const next = data - (data % blockSize)
  if (next <= position) return position
  holes.add(position, next)
  return next
}

interface Holes {
  add(start: number, end: number): void
  /** The name, when all data went through the sum. */
  seal(sum: ReturnType<typeof createHash>, size: number): string
}

function newHoles(): Holes {
  const ranges: [number, number][] = []
  return {
    add(start, end) {
      const last = ranges.at(-1)
      if (last?.[1] === start) last[1] = end
      else ranges.push([start, end])
    },
    seal(sum, size) {
      if (ranges.length === 0) return sum.digest('hex')
      const list = `${size}:${ranges.map(([start, end]) => `${start}-${end}`).join()}`
      // With its length behind it, there is one way only to tell the list from the data before it.
      return `s${sum.update(list).update(list.length.toString(16).padStart(16, '0')).digest('hex')}`
    },
  }
}
