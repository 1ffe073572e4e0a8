import { createHash } from 'node:crypto'
import { archiveDirectoryMissing } from '../../src/domain/archive/refusals.ts'
import { AwError } from '../../src/domain/errors.ts'
import type { ArchiveStore } from '../../src/ports/archive-store.ts'
import { type Disk, type Node, parentOf } from './disk.ts'

/** Files on a disk in memory, each a list of what the tree held. */
export function memoryArchiveStore(disk: Disk, directory: string): ArchiveStore {
  const fileAt = (path: string): Buffer | undefined => {
    const node = disk.at(path)
    return node?.kind === 'file' ? node.bytes : undefined
  }
  return {
    pathOf: (name) => `${directory}/${name}`,
    async prepare({ used }) {
      if (used && disk.at(directory) === undefined) throw archiveDirectoryMissing(directory)
    },
    has: async (path) => disk.at(path) !== undefined,
    async pack(tree, path, { about, exclude = [] }) {
      if (disk.at(path) !== undefined) throw new AwError('file_exists', `There is a file already: ${path}`)
      const top = disk.directory(tree)
      if (top === undefined) throw new AwError('file_not_found', `There is no directory ${tree}`)
      const bytes = Buffer.from(JSON.stringify({ about, tree: contentOf(top, exclude) }))
      disk.put(path, { kind: 'file', bytes, mode: 0o600, mtime: disk.now() })
      return { bytes: bytes.length, digest: digestOf(bytes) }
    },
    undo: async (path) => void disk.remove(path),
    async remove(path, made) {
      const bytes = fileAt(path)
      if (bytes === undefined) return disk.directory(parentOf(path)) === undefined ? 'unreachable' : 'absent'
      if (digestOf(bytes) !== made.digest) return 'changed'
      disk.remove(path)
      return 'removed'
    },
  }
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

function contentOf(node: Node, exclude: readonly string[] = []): unknown {
  if (node.kind === 'file') return node.bytes.toString('base64')
  if (node.kind !== 'directory') return node.kind
  const entries = [...node.entries].filter(([name]) => !exclude.includes(name))
  return Object.fromEntries(entries.map(([name, below]) => [name, contentOf(below)]))
}
