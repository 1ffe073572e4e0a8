import * as fs from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import { counted } from '../../fs/crash-points.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { type Native, native, SEEK } from '../../syscalls/native.ts'
import { at, errnoOf, readFlags } from '../descriptors.ts'
import { type Coroutine, runToCompletion } from '../coroutine.ts'

const { COPYFILE_FICLONE, COPYFILE_FICLONE_FORCE } = fs.constants

/** Without system calls a hole has to be read like data; at one go this much of it is, more is refused. */
const maxHoles = 1024 ** 3

/**
 * Fills an open, empty file from a regular one, of which a naming descriptor is enough: by sharing blocks where the file
 * system can, else by copying. Holes stay holes: a file that says it has a terabyte and has none costs nothing.
 */
export function copyContent(from: number, to: number): void {
  const { size, blocks } = fs.fstatSync(from)
  if (blocks * 512 >= size) {
    hostFs.copyFileSync(at(from), at(to), COPYFILE_FICLONE)
    return
  }
  if (shareBlocks(from, to)) return
  if (size > maxHoles && !native())
    throw new AwError('file_too_large', 'The file has large holes, which cannot be copied here')
  const fd = fs.openSync(at(from), readFlags)
  try {
    runToCompletion(contentSteps(fd, to))
  } finally {
    fs.closeSync(fd)
  }
}

/** One call, however large the file is. False where the file system cannot. */
export function shareBlocks(from: number, to: number): boolean {
  try {
    shares.clone(from, to)
    return true
  } catch (error) {
    if (cannotShare.has(errnoOf(error))) return false
    throw error
  }
}

const cannotShare = new Set(['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOTTY', 'ENOSYS', 'EACCES'])
const FICLONE = 0x40049409

const shares = counted({
  clone(from: number, to: number): void {
    try {
      const calls = native()
      if (calls) calls.ioctl(to, FICLONE, from)
      else fs.copyFileSync(at(from), at(to), COPYFILE_FICLONE_FORCE)
    } catch (error) {
      // One that only names its file cannot be read from; the file can.
      if (errnoOf(error) !== 'EBADF') throw error
      fs.copyFileSync(at(from), at(to), COPYFILE_FICLONE_FORCE)
    }
  },
})

/** One for all: it is filled and emptied within a step. */
let block: Buffer | undefined
let zeros: Buffer | undefined

/** The same, by copying, a small part in each step. `from` is open for reading. */
export function* contentSteps(from: number, to: number): Coroutine<void> {
  const { size, blocks } = fs.fstatSync(from)
  const sparse = blocks * 512 < size
  const calls = sparse ? native() : undefined
  const buffer = (block ??= Buffer.allocUnsafeSlow(1024 * 1024))
  let [done, end] = [0, calls ? 0 : size]
  while (done < size) {
    if (calls && done >= end) {
      done = nextData(calls, from, done)
      if (done >= size) break
      end = calls.lseek(from, done, SEEK.HOLE)
    }
    const got = fs.readSync(from, buffer, 0, Math.min(buffer.length, end - done), done)
    if (got === 0) break // It was cut short meanwhile.
    const bytes = buffer.subarray(0, got)
    if (!sparse || !isZero(bytes)) hostFs.writeSync(to, bytes, done)
    done += got
    yield
  }
  if (sparse) hostFs.ftruncateSync(to, size)
}

function isZero(bytes: Buffer): boolean {
  zeros ??= Buffer.alloc(1024 * 1024)
  return bytes.equals(zeros.subarray(0, bytes.length))
}

function nextData(calls: Native, fd: number, offset: number): number {
  try {
    return calls.lseek(fd, offset, SEEK.DATA)
  } catch (error) {
    if (errnoOf(error) === 'ENXIO') return Infinity
    throw error
  }
}
