import { hash } from 'node:crypto'
import { AwError } from '../../../src/domain/errors.ts'
import { diffEntries, type DiffEntry, exactKey } from '../../../src/domain/trees/diff.ts'
import type { Area, Place, StorageCapabilities, StorageDriver } from '../../../src/ports/storage-driver.ts'
import { walkNodes, type DirectoryNode, type Disk, type FileNode, type Node } from '../disk.ts'
import { assertImportOptions } from '../../../src/drivers/storage/root/import.ts'
import { apartFrom, bytesIn, copyInto, nodeAt, rulesOf } from './copy.ts'

const areas: readonly Area[] = ['volumes', 'snapshots', 'bases', 'trash', 'tmp']
const marker = '.aw-storage'

const capabilities: StorageCapabilities = {
  visibility: 'host',
  reflink: 'never',
  needsRoot: false,
  snapshot: 'linear',
  fork: 'linear',
  diff: 'linear',
  live: 'atomic',
  remounts: false,
  restore: 'exchange',
  hardlinks: true,
  dirRename: true,
  idmap: false,
  quota: 'none',
  measures: true,
  unfaithful: [{ what: 'owners, extended attributes and holes', why: 'its disk has none' }],
}

/** Trees on a disk in memory: the shortest driver that keeps the contract, and the oracle for the others. */
export function memoryStorage({ disk, root = '/storage' }: { disk: Disk; root?: string }): StorageDriver {
  for (const area of areas) disk.makeDirectory(`${root}/${area}`, 0o700)
  disk.put(`${root}/${marker}`, { kind: 'file', bytes: Buffer.alloc(0), mode: 0o600, mtime: disk.now() })
  const path = (place: Place): string => `${root}/${place.area}/${place.name}`
  const assertRoot = (): void => {
    if (disk.at(`${root}/${marker}`) !== undefined) return
    throw new AwError('storage_unavailable', `The storage root ${root} is missing`, { data: { root } })
  }
  const found = (place: Place): DirectoryNode | undefined => {
    assertRoot()
    return disk.directory(path(place))
  }
  const tree = (place: Place): DirectoryNode => {
    const there = found(place)
    if (there !== undefined) return there
    const code = isFrozen(place) ? 'snapshot_not_found' : 'workspace_not_found'
    throw new AwError(code, `There is no tree at ${place.area}/${place.name}`, { data: { place } })
  }
  const assertFree = (place: Place): void => {
    if (found(place) === undefined) return
    throw new AwError('file_exists', `There is already a tree at ${place.area}/${place.name}`, { data: { place } })
  }
  const put = (place: Place, from: DirectoryNode, exclude: readonly string[] = []): void => {
    const made: DirectoryNode = { ...from, entries: new Map() }
    copyInto(from, made, { exclude })
    disk.put(path(place), made)
  }
  const frozen = (changed: number | null) => ({ mechanism: 'memory', consistency: 'atomic' as const, changed })
  const compare = (from: Place, to: Place, exclude: readonly string[] = [], exact = false) =>
    diffEntries(entriesOf(tree(from), exclude, exact), entriesOf(tree(to), exclude, exact))
  const changedSince = (since: Place | undefined, to: Place, exclude?: readonly string[]): number | null =>
    since === undefined || found(since) === undefined ? null : compare(since, to, exclude).length

  return {
    name: 'memory',
    capabilities,
    probe: async () => ({ usable: true, notes: ['trees are in memory and end with the process'] }),
    async create(place, { mode = 0o755, from, maxBytes, after } = {}) {
      await after
      if (maxBytes !== undefined) throw new AwError('unsupported', 'Trees in memory have no limit')
      assertFree(place)
      if (from === undefined) disk.makeDirectory(path(place)).mode = mode
      else put(place, tree(from))
      return { durable: Promise.resolve() }
    },
    async import(place, source, options) {
      const { into, signal, index } = options
      assertRoot()
      if (signal?.aborted) throw new AwError('aborted', 'The copy was cancelled', { cause: signal.reason })
      assertImportOptions(source, options, (base) => found(base) !== undefined)
      const from = 'folder' in source ? sourceFolder(disk, source.folder, root) : sourceTree(disk, path(source.place))
      tree(place)
      const below = 'place' in source ? (source.path ?? '.') : '.'
      const wanted = below === '.' ? from : sourceNode(from, below)
      const target = disk.makeDirectory(into === '.' ? path(place) : `${path(place)}/${into}`)
      // By difference would be no quicker here.
      if (index?.since !== undefined) target.entries.clear()
      const apart = apartFrom(from, below)
      const more = apart.length > 0 && { apart }
      if (wanted.kind === 'directory') {
        const how = 'folder' in source ? { isFolder: true, rules: rulesOf(wanted, options) } : {}
        return { ...copyInto(wanted, target, how), ...more }
      }
      const name = below.slice(below.lastIndexOf('/') + 1)
      return { ...copyInto({ ...target, entries: new Map([[name, wanted]]) }, target), single: true, ...more }
    },
    async snapshot(volume, into, { exclude, since, after } = {}) {
      await after
      assertFree(into)
      put(into, tree(volume), exclude)
      return frozen(changedSince(since, into, exclude))
    },
    async restore(volume, to, keep, { exclude = [], resume, since } = {}) {
      // Nothing is ever interrupted here: what was kept was also replaced.
      if (resume !== undefined) return found(keep) && frozen(changedSince(since, keep, exclude))
      assertFree(keep)
      const [now, wanted] = [tree(volume), tree(to)]
      put(keep, now, exclude)
      const kept = exclude.flatMap((name) => [...now.entries].filter(([key]) => key === name))
      put(volume, wanted, exclude)
      for (const [name, node] of kept) tree(volume).entries.set(name, node)
      return frozen(changedSince(since, keep, exclude))
    },
    async *diff(from, to, { exclude, exact } = {}) {
      yield* compare(from, to, exclude, exact)
    },
    async read(place, name, { maxBytes, link = false }) {
      const node = nodeAt(tree(place), name)
      if (node === undefined) throw new AwError('file_not_found', `There is no ${name}`, { data: { path: name } })
      if (node.kind !== (link ? 'symlink' : 'file'))
        throw new AwError('not_a_file', `${name} is not a file`, { data: { path: name } })
      const bytes = node.kind === 'symlink' ? Buffer.from(node.target, 'latin1') : node.bytes
      if (bytes.length <= maxBytes) return bytes
      throw new AwError('file_too_large', `${name} has ${bytes.length} bytes`, { data: { path: name } })
    },
    async verify(place) {
      const files = filesIn(tree(place))
      return { method: 'none', files: files.length, bytes: bytesIn(files), problems: [] }
    },
    async move(from, to) {
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
    async ready() {},
    reach: async (place) => ({ path: path(place), [Symbol.dispose]: () => undefined }),
    exists: async (place) => found(place) !== undefined,
    async usage(place, { maxFiles = Infinity, own = false, beyond } = {}) {
      const files = filesIn(tree(place)).slice(0, maxFiles)
      const bytes = bytesIn(files)
      return {
        bytes,
        files: files.length,
        complete: files.length < maxFiles,
        ...(own && { own: bytes }),
        ...(beyond && { beyond: null }),
      }
    },
    async list() {
      assertRoot()
      const names = (area: Area): string[] => [...(disk.directory(`${root}/${area}`)?.entries.keys() ?? [])].toSorted()
      return areas.flatMap((area) => names(area).map((name) => ({ area, name })))
    },
    async limit() {
      throw new AwError('unsupported', 'Trees in memory have no limit')
    },
    room: async () => null,
    async free() {
      assertRoot()
      return { bytes: Number.MAX_SAFE_INTEGER, total: Number.MAX_SAFE_INTEGER, files: null }
    },
    async [Symbol.asyncDispose]() {},
  }
}

const isFrozen = ({ area }: Place): boolean => area === 'snapshots' || area === 'bases'

function filesIn(tree: DirectoryNode): FileNode[] {
  const nodes = [...walkNodes(tree)].map(([, node]) => node)
  return [...new Set(nodes)].filter((node) => node.kind === 'file')
}

function sourceNode(tree: DirectoryNode, path: string): Node {
  const node = nodeAt(tree, path)
  if (node !== undefined) return node
  throw new AwError('file_not_found', `There is no ${path} in the tree`, { data: { path } })
}

function entriesOf(tree: DirectoryNode, exclude: readonly string[], exact: boolean): Map<string, DiffEntry> {
  const all = [...walkNodes(tree)].filter(([path]) => !exclude.includes(path.split('/')[0] ?? ''))
  const names = all.toSorted(([one], [other]) => (one < other ? 1 : -1))
  const first = new Map(names.map(([path, node]) => [node, path]))
  const more = (node: Node) => exact && { exact: exactKey(node.kind, node.mtime.getTime(), first.get(node) ?? '') }
  return new Map(all.map(([path, node]) => [path, { ...entryOf(node), ...more(node) }]))
}

function entryOf(node: Node): DiffEntry {
  const plain = { owner: '', attributes: '' }
  if (node.kind === 'file')
    return { ...plain, kind: 'file', size: node.bytes.length, mode: node.mode, content: hash('sha256', node.bytes) }
  if (node.kind === 'symlink')
    return { ...plain, kind: 'symlink', size: node.target.length, mode: 0o777, content: node.target }
  return { ...plain, kind: node.kind, size: 0, mode: node.kind === 'directory' ? node.mode : 0o644, content: '' }
}

function sourceFolder(disk: Disk, folder: string, root: string): DirectoryNode {
  const found = disk.directory(folder)
  const inside = (outer: string, inner: string): boolean => `${inner}/`.startsWith(`${outer}/`)
  const allowed = folder !== '/' && !inside(folder, root) && !inside(root, folder)
  if (found !== undefined && allowed) return found
  const why = found === undefined ? 'cannot be read' : 'holds the store of aw'
  const data = { folder, ...(found === undefined && { gone: true }) }
  throw new AwError('source_failed', `The folder ${folder} ${why}`, { data })
}

function sourceTree(disk: Disk, path: string): DirectoryNode {
  const found = disk.directory(path)
  if (found !== undefined) return found
  throw new AwError('source_failed', `There is no tree ${path}`, { data: { folder: path } })
}
