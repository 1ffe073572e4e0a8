import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { ensureDirectory } from '../fs/directories.ts'
import { durableFile } from '../fs/durable-file.ts'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from '../fs/host-fs.ts'
import type { StatFingerprint } from './stat.ts'

/**
 * What the kernel told about each thing of a folder when a tree was made from it, and so what the tree holds. It is only a
 * memory: where there is none, or one that is not whole, everything is copied.
 *
 * Kept in a directory of the storage root, under the name of the base that the tree became.
 */
export interface FolderIndex {
  /** Of the folder itself. */
  readonly top: StatFingerprint
  /** What is in a directory of it, by name; empty for one that may have changed without that showing. */
  readonly below: (directory: string) => Map<string, StatFingerprint>
}

export interface IndexWriter {
  /**
   * What is in a directory. It may have been replaced since it was added: what is added last counts.
   * @param directory its path from the top with a slash behind it; empty for the top
   */
  add(directory: string, names: readonly string[], prints: readonly StatFingerprint[]): void
  addTop(print: StatFingerprint): void
  /** When all is added; atomic, and durable when it resolves. */
  write(): Promise<void>
}

export const indexDirectory = 'folder-indexes'

const magic = 'aw-folder-index 1\n'
const printLength = 80
const unknown = '\0'.repeat(printLength)

/** Undefined if there is none that is whole. */
export async function readFolderIndex(root: string, name: string): Promise<FolderIndex | undefined> {
  const text = await readBody(fileOf(root, name))
  if (text === undefined) return undefined
  const places = new Map<string, { readonly names: number; readonly prints: number; readonly count: number }>()
  for (let at = printLength; at < text.length;) {
    const pathEnd = text.indexOf('\0', at)
    const sizeEnd = text.indexOf('\0', pathEnd + 1)
    const [count = 0, length = 0] = text
      .slice(pathEnd + 1, sizeEnd)
      .split(' ')
      .map(Number)
    const prints = sizeEnd + 1 + length
    places.set(text.slice(at, pathEnd), { names: sizeEnd + 1, prints, count })
    at = prints + count * printLength
  }
  const printAt = (at: number): StatFingerprint => {
    const print = text.slice(at, at + printLength)
    return print === unknown ? '' : print
  }
  return {
    top: printAt(0),
    below(directory) {
      const place = places.get(directory)
      if (place === undefined) return new Map()
      const names = text.slice(place.names, place.prints).split('/')
      return new Map(names.map((name, i) => [name, printAt(place.prints + i * printLength)]))
    },
  }
}

async function readBody(file: string): Promise<string | undefined> {
  let bytes: Buffer
  try {
    bytes = fs.readFileSync(file)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  const start = magic.length + 64
  const packed = bytes.subarray(start)
  const isWhole = bytes.toString('latin1', 0, start) === magic + hash('sha256', packed)
  if (!isWhole) return undefined
  // Most commands do without it, and it takes long to load.
  const { zstdDecompressSync } = await import('node:zlib')
  return zstdDecompressSync(packed).toString('latin1')
}

/** The file appears whole, under its name, in the place of one that is there. */
export function newFolderIndex(root: string, name: string): IndexWriter {
  const file = fileOf(root, name)
  const parts = new Map<string, string>()
  let top = unknown
  return {
    add(directory, names, prints) {
      const joined = names.join('/')
      const known = prints.map((print) => (print === '' ? unknown : print)).join('')
      if (names.length === 0) parts.delete(directory)
      else parts.set(directory, `${directory}\0${names.length} ${joined.length}\0${joined}${known}`)
    },
    addTop(print) {
      if (print !== '') top = print
    },
    async write() {
      const { constants, zstdCompressSync } = await import('node:zlib')
      const body = Buffer.from(top + [...parts.values()].join(''), 'latin1')
      const packed = zstdCompressSync(body, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
      ensureDirectory(join(root, indexDirectory), 0o700)
      durableFile.remove(`${file}.new`)
      const fd = hostFs.createSync(`${file}.new`, 0o600)
      try {
        hostFs.writeSync(fd, Buffer.concat([Buffer.from(magic + hash('sha256', packed), 'latin1'), packed]))
      } finally {
        fs.closeSync(fd)
      }
      durableFile.rename(`${file}.new`, file)
    },
  }
}

/** Absent = done. What comes back after a power cut is of a base that is not there. */
export function dropFolderIndex(root: string, name: string): void {
  for (const file of [fileOf(root, name), `${fileOf(root, name)}.new`]) durableFile.remove(file)
}

const fileOf = (root: string, name: string): string => join(root, indexDirectory, name)
