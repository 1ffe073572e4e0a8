import * as fs from 'node:fs'
import { joinSegments, type Segment } from '../../../domain/archive/sparse-map.ts'
import { AwError } from '../../../domain/errors.ts'
import { native, SEEK } from '../../../sys/syscalls/native.ts'
import { nextData } from '../../../sys/trees/same-bytes.ts'

/** Without system calls holes cannot be told from zeros, and are read; more than this is not. */
const maxHoles = 1024 ** 3

/** One block of a disk: a hole in it saves nothing. */
const smallest = 4096

/** Where the data of an open file is; undefined if it has no holes. */
export function segmentsOf(fd: number, size: number): readonly Segment[] | undefined {
  if (size <= smallest) return undefined
  const { blocks } = fs.fstatSync(fd)
  if (blocks * 512 >= size) return undefined
  const calls = native()
  if (calls === undefined) {
    if (size - blocks * 512 <= maxHoles) return undefined
    throw new AwError('file_too_large', 'A file has large holes, which cannot be packed here')
  }
  const segments: Segment[] = []
  for (let offset = nextData(calls, fd, 0); offset < size;) {
    const end = Math.min(size, calls.lseek(fd, offset, SEEK.HOLE))
    segments.push({ offset, length: end - offset })
    offset = end < size ? nextData(calls, fd, end) : size
  }
  const [first] = segments
  const isWhole = segments.length === 1 && first?.offset === 0 && first.length === size
  return isWhole ? undefined : joinSegments(segments)
}
