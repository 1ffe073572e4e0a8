import * as fs from 'node:fs'
import { at, readFlags } from '../safe-fs/descriptors.ts'

/** The beginning of a regular file that was opened by name only; bytes, one character each (latin1). */
export function readNamed(named: number, mostBytes: number): string {
  const fd = fs.openSync(at(named), readFlags)
  try {
    const bytes = Buffer.alloc(mostBytes)
    return bytes.toString('latin1', 0, fs.readSync(fd, bytes, 0, mostBytes, 0))
  } finally {
    fs.closeSync(fd)
  }
}
