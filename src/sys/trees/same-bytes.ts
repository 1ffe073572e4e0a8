import * as fs from 'node:fs'
import { type Native, native, SEEK } from '../syscalls/native.ts'
import { errnoOf } from '../safe-fs/descriptors.ts'
import type { Coroutine } from '../safe-fs/coroutine.ts'

const blockSize = 256 * 1024
const blocks: [Buffer, Buffer] | [] = []

/** Whether two open files of one size hold the same, a part in each step. What is a hole in both is not read. */
export function* sameBytes(one: number, other: number, size: number): Coroutine<boolean> {
  const [left, right] = (blocks.length > 0 ? blocks : Object.assign(blocks, newBlocks())) as [Buffer, Buffer]
  const calls = size > blockSize ? native() : undefined
  for (let done = 0; done < size;) {
    if (calls) done = Math.min(nextData(calls, one, done), nextData(calls, other, done))
    if (done >= size) break
    const got = fs.readSync(one, left, 0, blockSize, done)
    const beside = fs.readSync(other, right, 0, blockSize, done)
    if (got !== beside || got === 0) return got === beside
    if (left.compare(right, 0, got, 0, got) !== 0) return false
    done += got
    if (done < size) yield
  }
  return true
}

const newBlocks = (): [Buffer, Buffer] => [Buffer.allocUnsafeSlow(blockSize), Buffer.allocUnsafeSlow(blockSize)]

/** Where data begins, at the offset or behind it; infinite if there is none. */
export function nextData(calls: Native, fd: number, offset: number): number {
  try {
    return calls.lseek(fd, offset, SEEK.DATA)
  } catch (error) {
    if (errnoOf(error) === 'ENXIO') return Infinity
    throw error
  }
}
