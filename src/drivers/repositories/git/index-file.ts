import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { parseIndex, submoduleMode, type IndexEntry } from '../../../domain/git/index.ts'

/** What a checkout has written, from the index that git wrote with it. */

export interface TreeContent {
  readonly files: number
  readonly bytes: number
  readonly submodules: readonly string[]
  readonly lfs: number
}

export function contentOf(tree: string, idBytes: number): TreeContent {
  const { entries } = parseIndex(readFileSync(join(tree, '.git/index')), [idBytes]) ?? unread()
  const written = entries.filter(({ mode }) => mode !== submoduleMode)
  return {
    files: written.length,
    bytes: written.reduce((sum, { size }) => sum + size, 0),
    submodules: entries.filter(({ mode }) => mode === submoduleMode).map(({ path }) => bytes(path).toString()),
    lfs: countPointers(tree, written),
  }
}

const regular = 0o100000
const bytes = (path: string): Buffer => Buffer.from(path, 'latin1')
const unread = (): never => {
  throw new AwError('internal', 'git has written an index that cannot be read')
}

const pointer = 'version https://git-lfs.github.com/spec/v1\n'

/** Looked for only where a tree says that it has some: a large tree has many small files. */
function countPointers(tree: string, entries: readonly IndexEntry[]): number {
  const usesLfs = entries.some(
    (entry) => /(?:^|\/)\.gitattributes$/.test(entry.path) && read(tree, entry)?.includes('filter=lfs'),
  )
  if (!usesLfs) return 0
  return entries.filter((entry) => entry.size < 1024 && read(tree, entry)?.startsWith(pointer)).length
}

function read(tree: string, { mode, size, path }: IndexEntry): string | undefined {
  if ((mode & 0o170000) !== regular || size > 1024 * 1024) return undefined
  const fd = openSync(Buffer.concat([Buffer.from(`${tree}/`), bytes(path)]), constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    return fstatSync(fd).isFile() ? readFileSync(fd, 'latin1') : undefined
  } finally {
    closeSync(fd)
  }
}
