import * as fs from 'node:fs'
import { compareNames } from '../../../domain/paths.ts'
import type { FileKind } from '../../../ports/files.ts'
import { type Native, native, RESOLVE } from '../../syscalls/native.ts'
import { at, directoryFlags, mountId, readFlags } from '../descriptors.ts'
import { kindOf } from './info.ts'
import { openDirectoryStack } from '../directory-stack.ts'

/**
 * Reads directory after directory on a way down and up a tree. A *record* is a name, a NUL and a letter for the kind:
 * plain strings, because a hundred thousand of them are sorted fastest as such. NUL is below every character, so it
 * does not disturb the order.
 */
export interface TreeReader extends Disposable {
  start(): string[]
  /** Goes into a directory of the current one. `path` is from the start. Throws, and stays, if it cannot be read. */
  enter(name: string, path: string): string[]
  leave(): void
}

export const kindLetters: Readonly<Record<string, FileKind>> = {
  f: 'file',
  d: 'directory',
  l: 'symlink',
  p: 'fifo',
  s: 'socket',
  b: 'block',
  c: 'char',
}
const letterOf = Object.fromEntries(Object.entries(kindLetters).map(([letter, kind]) => [kind, letter]))

/** The engine's own order is that of the bytes too, but for the characters from here on; and it is much faster. */
const outOfOrder = /[\ud800-\uffff]/

const inOrder = (records: string[]): string[] =>
  records.some((record) => outOfOrder.test(record)) ? records.sort(compareNames) : records.sort()

// -- openat2 and getdents64 ------------------------------------------------------------------------------------------

const straightDown = RESOLVE.BENEATH | RESOLVE.NO_MAGICLINKS | RESOLVE.NO_XDEV | RESOLVE.NO_SYMLINKS
const listFlags = readFlags | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW

/** Each directory is opened by its path from the start, which may hold no link: nothing needs to be kept open. */
export function byKernel(base: number): TreeReader {
  const calls = native()
  if (!calls) throw new Error('openat2 was chosen and is not there')
  const read = (path: string): string[] => {
    const fd = calls.openat2(base, path, listFlags, straightDown)
    try {
      return readRecords(calls, fd)
    } finally {
      fs.closeSync(fd)
    }
  }
  return {
    start: () => read('.'),
    enter: (_, path) => read(path),
    leave: () => undefined,
    [Symbol.dispose]: () => undefined,
  }
}

const block = Buffer.alloc(128 * 1024)
/** DT_UNKNOWN is 0. */
const letterOfType = ['', 'p', 'c', '', 'd', '', 'b', '', 'f', '', 'l', '', 's']
const headerBytes = 19

function readRecords(calls: Native, fd: number): string[] {
  const records: string[] = []
  for (;;) {
    const filled = calls.getdents64(fd, block)
    if (filled === 0) break
    const text = block.toString('latin1', 0, filled)
    for (let start = 0; start < filled;) {
      const length = (block[start + 16] ?? 0) | ((block[start + 17] ?? 0) << 8)
      const first = start + headerBytes
      const end = text.indexOf('\0', first)
      const name = nameAt(text, first, end)
      if (name !== '.' && name !== '..') {
        const letter = letterOfType[block[start + 18] ?? 0] || letterByLook(fd, name)
        if (letter) records.push(`${name}\0${letter}`)
      }
      start += length
    }
  }
  return inOrder(records)

  function nameAt(text: string, first: number, end: number): string {
    for (let index = first; index < end; index++) {
      if (text.charCodeAt(index) < 0x80) continue
      return block.toString('utf8', first, end)
    }
    return text.slice(first, end)
  }
}

/** Some file systems do not tell the kind in a listing. */
function letterByLook(fd: number, name: string): string | undefined {
  const stats = fs.lstatSync(at(fd, name), { throwIfNoEntry: false })
  return stats && letterOf[kindOf(stats)]
}

// -- plain Node ------------------------------------------------------------------------------------------------------

export function byWalk(base: number, mount: string): TreeReader {
  const levels = openDirectoryStack(base)
  const read = (fd: number): string[] => {
    const entries = fs.readdirSync(at(fd), { withFileTypes: true })
    return inOrder(entries.map((entry) => `${entry.name}\0${letterOf[kindOf(entry)]}`))
  }
  return {
    start: () => read(base),
    enter(name) {
      const fd = fs.openSync(at(levels.top(), name), directoryFlags)
      try {
        if (mountId(fd) !== mount) throw Object.assign(new Error('EXDEV: a mount point'), { code: 'EXDEV' })
        const records = read(fd)
        levels.push(name, fd)
        return records
      } catch (error) {
        fs.closeSync(fd)
        throw error
      }
    },
    leave: () => levels.pop(),
    [Symbol.dispose]: () => levels[Symbol.dispose](),
  }
}
