import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../domain/errors.ts'

/** What a checkout has written, from the index that git wrote with it; the format is version 2. */

export interface TreeContent {
  readonly files: number
  readonly bytes: number
  readonly submodules: readonly string[]
  readonly lfs: number
}

interface IndexEntry {
  readonly mode: number
  readonly size: number
  /** Bytes. */
  readonly path: Buffer
}

export function contentOf(tree: string, idBytes: number): TreeContent {
  const entries = readIndex(readFileSync(join(tree, '.git/index')), idBytes)
  const written = entries.filter(({ mode }) => mode !== submoduleMode)
  return {
    files: written.length,
    bytes: written.reduce((sum, { size }) => sum + size, 0),
    submodules: entries.filter(({ mode }) => mode === submoduleMode).map(({ path }) => path.toString()),
    lfs: countPointers(tree, written),
  }
}

const submoduleMode = 0o160000
const regular = 0o100000

function readIndex(index: Buffer, idBytes: number): IndexEntry[] {
  if (index.toString('latin1', 0, 4) !== 'DIRC' || index.readUInt32BE(4) !== 2) {
    throw new AwError('internal', 'git has written an index that is not of version 2')
  }
  const entries: IndexEntry[] = []
  let at = 12
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    const start = at + 40 + idBytes + 2
    const end = index.indexOf(0, start)
    entries.push({
      mode: index.readUInt32BE(at + 24),
      size: index.readUInt32BE(at + 36),
      path: index.subarray(start, end),
    })
    at += Math.ceil((end + 1 - at) / 8) * 8
  }
  return entries
}

const pointer = 'version https://git-lfs.github.com/spec/v1\n'

/** Looked for only where a tree says that it has some: a large tree has many small files. */
function countPointers(tree: string, entries: readonly IndexEntry[]): number {
  const usesLfs = entries.some(
    (entry) =>
      /(?:^|\/)\.gitattributes$/.test(entry.path.toString('latin1')) && read(tree, entry)?.includes('filter=lfs'),
  )
  if (!usesLfs) return 0
  return entries.filter((entry) => entry.size < 1024 && read(tree, entry)?.startsWith(pointer)).length
}

function read(tree: string, { mode, size, path }: IndexEntry): string | undefined {
  if ((mode & 0o170000) !== regular || size > 1024 * 1024) return undefined
  const fd = openSync(Buffer.concat([Buffer.from(`${tree}/`), path]), constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd, 'latin1') : undefined
  } finally {
    closeSync(fd)
  }
}
