import { AwError } from '../../domain/errors.ts'
import type { Area, ImportReport, Place, StorageDriver } from '../../ports/storage-driver.ts'
import { walkNodes, type DirectoryNode, type Disk, type Node } from '../files/memory-disk.ts'

const areas: readonly Area[] = ['volumes', 'snapshots', 'bases', 'trash', 'tmp']
const marker = '.aw-storage'

/** Trees on a disk in memory: the shortest driver that keeps the contract, and the oracle for the others. */
export function memoryStorage({ disk, root = '/storage' }: { disk: Disk; root?: string }): StorageDriver {
  for (const area of areas) disk.makeDirectory(`${root}/${area}`, 0o700)
  disk.put(`${root}/${marker}`, { kind: 'file', bytes: Buffer.alloc(0), mode: 0o600, mtime: disk.now() })
  const path = (place: Place): string => `${root}/${place.area}/${place.name}`
  const assertRoot = (): void => {
    if (disk.at(`${root}/${marker}`) !== undefined) return
    throw new AwError('storage_unavailable', `The storage root ${root} is missing`, { data: { root } })
  }
  const tree = (place: Place): DirectoryNode => {
    const found = disk.directory(path(place))
    if (found !== undefined) return found
    throw new AwError('workspace_not_found', `There is no tree at ${place.area}/${place.name}`, { data: { place } })
  }
  const assertFree = (place: Place): void => {
    if (disk.at(path(place)) === undefined) return
    throw new AwError('file_exists', `There is already a tree at ${place.area}/${place.name}`, { data: { place } })
  }

  return {
    name: 'memory',
    capabilities: { visibility: 'sandbox', reflink: 'never', needsRoot: false },
    probe: async () => ({ usable: true, notes: ['trees are in memory and end with the process'] }),
    async create(place, { mode = 0o755 } = {}) {
      assertRoot()
      assertFree(place)
      disk.makeDirectory(path(place)).mode = mode
    },
    async import(place, source, { into, signal }) {
      assertRoot()
      if (signal?.aborted) throw new AwError('aborted', 'The copy was cancelled', { cause: signal.reason })
      const from = 'folder' in source ? sourceFolder(disk, source.folder, root) : sourceTree(disk, path(source.place))
      tree(place)
      return copyInto(from, disk.makeDirectory(into === '.' ? path(place) : `${path(place)}/${into}`))
    },
    async move(from, to) {
      assertRoot()
      const moved = tree(from)
      assertFree(to)
      disk.remove(path(from))
      disk.put(path(to), moved)
    },
    async sync() {},
    async erase(place) {
      assertRoot()
      disk.remove(path(place))
    },
    attachment: (place) => ({ kind: 'dir', path: path(place) }),
    async exists(place) {
      assertRoot()
      return disk.at(path(place))?.kind === 'directory'
    },
    async usage(place, { maxFiles = Infinity } = {}) {
      const nodes = [...walkNodes(tree(place))].map(([, node]) => node)
      const files = [...new Set(nodes)].filter((node) => node.kind === 'file').slice(0, maxFiles)
      const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0)
      return { bytes, files: files.length, complete: files.length < maxFiles }
    },
    async list() {
      assertRoot()
      const names = (area: Area): string[] => [...(disk.directory(`${root}/${area}`)?.entries.keys() ?? [])].toSorted()
      return areas.flatMap((area) => names(area).map((name) => ({ area, name })))
    },
    async free() {
      assertRoot()
      return { bytes: Number.MAX_SAFE_INTEGER }
    },
    async [Symbol.asyncDispose]() {},
  }
}

function sourceFolder(disk: Disk, folder: string, root: string): DirectoryNode {
  const found = disk.directory(folder)
  const inside = (outer: string, inner: string): boolean => `${inner}/`.startsWith(`${outer}/`)
  const allowed = folder !== '/' && !inside(folder, root) && !inside(root, folder)
  if (found !== undefined && allowed) return found
  const why = found === undefined ? 'cannot be read' : 'holds the store of aw'
  throw new AwError('source_failed', `The folder ${folder} ${why}`, { data: { folder } })
}

function sourceTree(disk: Disk, path: string): DirectoryNode {
  const found = disk.directory(path)
  if (found !== undefined) return found
  throw new AwError('source_failed', `There is no tree ${path}`, { data: { folder: path } })
}

function copyInto(from: DirectoryNode, to: DirectoryNode): ImportReport {
  const counted = new Set<Node>()
  const skipped: ImportReport['skipped'][number][] = []
  const copy = (node: DirectoryNode, target: DirectoryNode, prefix: string): void => {
    for (const [name, child] of node.entries) {
      const path = prefix + name
      if (child.kind === 'directory') {
        const before = target.entries.get(name)
        const made: DirectoryNode = before?.kind === 'directory' ? before : { ...child, entries: new Map() }
        target.entries.set(name, made)
        copy(child, made, `${path}/`)
      } else if (child.kind === 'file' || child.kind === 'symlink') {
        // Files never change, so a copy is the same object; one with two names stays one.
        target.entries.set(name, child)
        if (child.kind === 'file') counted.add(child)
      } else skipped.push({ path, reason: child.kind === 'char' ? 'device' : child.kind })
    }
    target.mode = node.mode
    target.mtime = node.mtime
  }
  copy(from, to, '')
  const files = [...counted].filter((node) => node.kind === 'file')
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0)
  return { files: files.length, bytes, reflinked: 0, skipped }
}
