import * as fs from 'node:fs'
import { AwError } from '../../domain/errors.ts'
import { hostFs } from '../host-fs.ts'
import { type Native, native, SEEK } from '../native.ts'
import { at, errnoOf, readFlags } from './descriptors.ts'

const { COPYFILE_FICLONE, COPYFILE_FICLONE_FORCE } = fs.constants

/** Without system calls a hole looks like data; this much of it is copied, more is refused. */
const mostHoles = 1024 ** 3

/**
 * Fills an open, empty file from a regular one: by sharing blocks where the file system can, else by copying. Holes stay
 * holes: a file that says it has a terabyte and has none costs nothing.
 */
export function copyContent(from: number, to: number): void {
  const { size, blocks } = fs.fstatSync(from)
  if (blocks * 512 >= size) hostFs.copyFileSync(at(from), at(to), COPYFILE_FICLONE)
  else copySparse(from, to, size)
}

function copySparse(from: number, to: number, size: number): void {
  if (cloned(from, to)) return
  const calls = native()
  if (calls) {
    copySegments(calls, from, to, size)
    return
  }
  if (size > mostHoles) throw new AwError('file_too_large', 'The file has large holes, which cannot be copied here')
  hostFs.copyFileSync(at(from), at(to))
}

function cloned(from: number, to: number): boolean {
  try {
    hostFs.copyFileSync(at(from), at(to), COPYFILE_FICLONE_FORCE)
    return true
  } catch (error) {
    if (['ENOTSUP', 'EOPNOTSUPP', 'EXDEV', 'EINVAL', 'ENOTTY', 'ENOSYS'].includes(errnoOf(error))) return false
    throw error
  }
}

function copySegments(calls: Native, from: number, to: number, size: number): void {
  const fd = fs.openSync(at(from), readFlags)
  const block = Buffer.allocUnsafe(1024 * 1024)
  try {
    for (let start = nextData(calls, fd, 0); start < size; start = nextData(calls, fd, start)) {
      const end = calls.lseek(fd, start, SEEK.HOLE)
      while (start < end) {
        const got = fs.readSync(fd, block, 0, Math.min(block.length, end - start), start)
        if (got === 0) break
        hostFs.writeSync(to, block.subarray(0, got), start)
        start += got
      }
      if (start < end) break // It was cut short meanwhile.
    }
    hostFs.ftruncateSync(to, size)
  } finally {
    fs.closeSync(fd)
  }
}

function nextData(calls: Native, fd: number, offset: number): number {
  try {
    return calls.lseek(fd, offset, SEEK.DATA)
  } catch (error) {
    if (errnoOf(error) === 'ENXIO') return Infinity
    throw error
  }
}
