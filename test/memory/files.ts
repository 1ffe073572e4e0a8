import { AwError, toAwError, type ErrorCode } from '../../src/domain/errors.ts'
import { compareNames, foldName, parsePath, splitPath, staysInside, type ParsedPath } from '../../src/domain/paths.ts'
import type { FileHandle, FileInfo, Files, PathOptions, RootOptions } from '../../src/ports/files.ts'
import { walkNodes, type DirectoryNode, type Disk, type FileNode, type Node } from './disk.ts'

/** On the disk a name is its bytes, one character each: names that are no text can be there too. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1')
const textOf = (bytes: string): string => Buffer.from(bytes, 'latin1').toString()

/** The files port over a disk in memory: the oracle for `sys/safe-fs`, and what a core without a host uses. */
export const memoryFiles = (disk: Disk): Files => ({ open: (root, options) => openHandle(disk, root, options) })

interface Spot {
  readonly parent: DirectoryNode
  readonly name: string
  readonly node: Node | undefined
  /** From the root, without links. */
  readonly names: readonly string[]
  /** What is asked for below something that is not there. */
  readonly rest?: readonly string[]
}

interface Walk {
  readonly follow?: boolean
  readonly change?: boolean
  readonly make?: boolean
  /** What is below something that is not there is not there either. */
  readonly quiet?: boolean
}

const fail = (code: ErrorCode, path: string): never => {
  throw new AwError(code, `${code.replaceAll('_', ' ')}: ${path}`)
}

function openHandle(disk: Disk, path: string, options: RootOptions = {}): FileHandle {
  const top = disk.directory(path) ?? fail('file_not_found', path)
  const protect = new Set((options.protect ?? []).map(foldName))
  const roots = [path, ...[options.publicRoot ?? []].flat()]
  const parse = (text: string, { absolute }: PathOptions = {}, root = true): ParsedPath => {
    const parsed = parsePath(text, { absolute, roots, root })
    return { ...parsed, names: parsed.names.map(bytesOf) }
  }
  const isProtected = (names: readonly string[]): boolean => protect.has(foldName(textOf(names[0] ?? '')))
  const directory = (mode = options.dirMode ?? 0o755): DirectoryNode => ({
    kind: 'directory',
    entries: new Map(),
    mode,
    mtime: disk.now(),
  })

  function walk(parsed: ParsedPath, text: string, how: Walk): Spot {
    const left = [...parsed.names]
    const passed: { name: string; node: DirectoryNode }[] = []
    let links = 0
    let left1: string | undefined
    let spot: Spot = { parent: top, name: '', node: top, names: [] }
    while ((left1 = left.shift()) !== undefined) {
      if (spot.node === undefined && how.quiet) {
        spot = { ...spot, rest: [left1, ...left] }
        break
      }
      const here = spot.node ?? (how.make ? make(spot) : fail('file_not_found', text))
      if (here.kind !== 'directory') return fail('not_a_directory', text)
      if (left1 === '..') {
        if (passed.pop() === undefined)
          return fail(links > 0 ? 'symlink_outside_workspace' : 'path_traversal_attempt', text)
        spot = spotOf(passed)
        continue
      }
      const node = here.entries.get(left1)
      if (node?.kind === 'symlink' && (left.length > 0 || how.follow === true)) {
        if (++links > 40) return fail('cannot_resolve_symlinks', text)
        if (node.target.startsWith('/')) return fail('symlink_outside_workspace', text)
        left.unshift(...splitPath(node.target))
        continue
      }
      spot = { parent: here, name: left1, node, names: [...spot.names, left1] }
      if (node?.kind === 'directory') passed.push({ name: left1, node })
    }
    if (how.change && isProtected(spot.names)) fail('path_protected', text)
    return spot
  }

  function make(spot: Spot): DirectoryNode {
    if (isProtected(spot.names)) fail('path_protected', textOf(spot.name))
    const made = directory()
    spot.parent.entries.set(spot.name, made)
    return made
  }

  function spotOf(passed: readonly { name: string; node: DirectoryNode }[]): Spot {
    const names = passed.map(({ name }) => name)
    const parent = passed.at(-2)?.node ?? top
    return { parent, name: names.at(-1) ?? '', node: passed.at(-1)?.node ?? top, names }
  }

  const info = (parsed: ParsedPath, names: readonly string[], node: Node): FileInfo => ({
    path: textOf(names.join('/')),
    kind: node.kind,
    size: node.kind === 'file' ? node.bytes.length : node.kind === 'symlink' ? node.target.length : 0,
    mode: node.kind === 'file' || node.kind === 'directory' ? node.mode : 0o777,
    mtime: node.mtime.toISOString(),
    links: 1,
    uid: 0,
    gid: 0,
    ...(node.kind === 'symlink' && { target: textOf(node.target), escapes: escapes(names) }),
    ...(parsed.rebased && { rebased: true }),
  })

  function escapes(names: readonly string[]): boolean {
    try {
      walk({ names, directory: false, rebased: false }, '', { follow: true })
      return false
    } catch (error) {
      return !staysInside(toAwError(error))
    }
  }

  function place(parsed: ParsedPath, spot: Spot, node: Node): FileInfo {
    spot.parent.entries.set(spot.name, node)
    return info(parsed, spot.names, node)
  }

  function fileAt(text: string, options: PathOptions): FileNode {
    const { node } = walk(parse(text, options), text, { follow: true })
    if (node === undefined) return fail('file_not_found', text)
    return node.kind === 'file' ? node : fail('not_a_file', text)
  }

  function fileTarget(text: string, options: PathOptions): ParsedPath {
    const parsed = parse(text, options, false)
    return parsed.directory ? fail('not_a_file', text) : parsed
  }

  /** The file that is there, if there is one. */
  function replaceable({ node }: Spot, text: string, { existing }: WriteLike): FileNode | undefined {
    if (node !== undefined && existing === 'error') fail('file_exists', text)
    return node === undefined || node.kind === 'file' ? node : fail('not_a_file', text)
  }

  function replace(text: string, options: WriteLike, content: (before: FileNode | undefined) => Buffer): FileInfo {
    const parsed = fileTarget(text, options)
    const spot = walk(parsed, text, { follow: true, change: true, make: options.parents !== false })
    const before = replaceable(spot, text, options)
    const mode = before?.mode ?? options.mode ?? fileMode
    return place(parsed, spot, { kind: 'file', bytes: content(before), mode, mtime: disk.now() })
  }

  const fileMode = options.fileMode ?? 0o644

  return {
    read(text, options = {}) {
      const node = fileAt(text, options)
      const start = options.offset ?? 0
      const part = node.bytes.subarray(start, options.length === undefined ? undefined : start + options.length)
      return part.length > (options.maxBytes ?? Infinity) ? fail('file_too_large', text) : Buffer.from(part)
    },
    write: (text, content, options = {}) => replace(text, options, () => Buffer.from(content as Uint8Array)),
    append: (text, content, options = {}) =>
      replace(text, options, (before) =>
        Buffer.concat([before?.bytes ?? Buffer.alloc(0), Buffer.from(content as Uint8Array)]),
      ),
    // All are left to be written as usual: nothing would be gained here by doing it in place.
    fill: (_, files) => files,
    open(text, options = {}) {
      const node = fileAt(text, options)
      return {
        size: node.bytes.length,
        mtime: node.mtime.toISOString(),
        read: async (offset, length) => Buffer.from(node.bytes.subarray(offset, offset + length)),
        [Symbol.dispose]: () => {},
      }
    },
    create(text, options = {}) {
      const pieces: Buffer[] = []
      const parsed = fileTarget(text, options)
      replaceable(walk(parsed, text, { follow: true, change: true, quiet: options.parents !== false }), text, options)
      return {
        get size() {
          return pieces.reduce((sum, { length }) => sum + length, 0)
        },
        write: async (bytes) => void pieces.push(Buffer.from(bytes)),
        finish: () => replace(text, options, () => Buffer.concat(pieces)),
        [Symbol.dispose]: () => {},
      }
    },
    list(text, options = {}) {
      const parsed = parse(text, options)
      const { node, names } = walk(parsed, text, { follow: true })
      if (node === undefined) return fail('file_not_found', text)
      if (node.kind !== 'directory') return fail('not_a_directory', text)
      const { after, limit = 1000 } = options
      const sorted = [...node.entries].toSorted(([a], [b]) => compareNames(a, b))
      const rest = sorted.filter(([name]) => after === undefined || compareNames(name, bytesOf(after)) > 0)
      const page = rest.slice(0, limit)
      const last = page.at(-1)?.[0]
      const next = rest.length > page.length && last !== undefined ? textOf(last) : null
      return { entries: page.map(([name, child]) => info(parsed, [...names, name], child)), next }
    },
    tree(text, options = {}) {
      const { node } = walk(parse(text, options), text, { follow: true })
      if (node === undefined) return fail('file_not_found', text)
      if (node.kind !== 'directory') return fail('not_a_directory', text)
      const { maxEntries = Infinity, maxDepth = Infinity } = options
      const all = [...walkNodes(node)].map(([path, { kind }]) => ({ path, kind, names: path.split('/') }))
      const near = all
        .filter(({ names }) => names.length <= maxDepth)
        .toSorted((a, b) => compareByNames(a.names, b.names))
      const entries = near.slice(0, maxEntries).map(({ path, kind }) => ({ path: textOf(path), kind }))
      return { entries, truncated: entries.length < all.length, unreadable: [] }
    },
    stat(text, options = {}) {
      const parsed = parse(text, options)
      const { node, names } = walk(parsed, text, { follow: options.follow !== false })
      return node === undefined ? fail('file_not_found', text) : info(parsed, names, node)
    },
    mkdir(text, options = {}) {
      const parsed = parse(text, options)
      const spot = walk(parsed, text, { follow: true, change: true, make: options.parents === true })
      if (spot.node?.kind === 'directory' && options.parents) return info(parsed, spot.names, spot.node)
      return spot.node === undefined ? place(parsed, spot, directory(options.mode)) : fail('file_exists', text)
    },
    rename(from, to, options = {}) {
      const [source, goal] = [parse(from, options, false), parse(to, options, false)]
      const old = walk(source, from, { change: true })
      const node = old.node ?? fail('file_not_found', from)
      const spot = target(goal, to, options, node)
      old.parent.entries.delete(old.name)
      return place(goal, spot, node)
    },
    copy(from, to, options = {}) {
      const [source, goal] = [parse(from, options), parse(to, options, false)]
      const node = walk(source, from, {}).node ?? fail('file_not_found', from)
      if (node.kind === 'directory' ? !options.recursive : node.kind !== 'file' && node.kind !== 'symlink')
        fail('not_a_file', from)
      const spot = target(goal, to, options, node)
      return place(goal, spot, copyNode(node, disk.now()))
    },
    remove(text, options = {}) {
      const quiet = options.missing === 'ignore'
      const { parent, name, node } = walk(parse(text, options, false), text, { change: true, quiet })
      if (node === undefined) return quiet ? { removed: false } : fail('file_not_found', text)
      if (node.kind === 'directory' && node.entries.size > 0 && !options.recursive) fail('directory_not_empty', text)
      return { removed: parent.entries.delete(name) }
    },
    resolve(text, options = {}) {
      const parsed = parse(text, options)
      const follow = options.follow !== false || parsed.directory
      const { node, names, rest = [] } = walk(parsed, text, { follow, quiet: true })
      const arrived = [...names]
      for (const name of rest)
        if (name !== '..') arrived.push(name)
        else if (arrived.pop() === undefined) fail('path_traversal_attempt', text)
      return { path: textOf(arrived.join('/')), exists: node !== undefined, rebased: parsed.rebased }
    },
    [Symbol.dispose]: () => {},
  }

  function target(goal: ParsedPath, to: string, options: { replace?: boolean; parents?: boolean }, node: Node): Spot {
    const spot = walk(goal, to, { change: true, make: options.parents === true })
    const mayReplace = options.replace && node.kind !== 'directory' && spot.node?.kind !== 'directory'
    if (spot.node !== undefined && !mayReplace) fail('file_exists', to)
    if (node.kind === 'directory' && isInside(node, spot.parent)) fail('invalid_path', to)
    return spot
  }
}

type WriteLike = PathOptions & {
  readonly mode?: number | undefined
  readonly parents?: boolean | undefined
  readonly existing?: 'replace' | 'error' | undefined
}

const isInside = (node: DirectoryNode, parent: DirectoryNode): boolean =>
  node === parent || [...walkNodes(node)].some(([, child]) => child === parent)

/** A copy is new: its files are younger than what they were copied from. */
function copyNode(node: Node, mtime: Date): Node {
  if (node.kind !== 'directory') return { ...node, mtime }
  const entries = new Map([...node.entries].map(([name, child]) => [name, copyNode(child, mtime)]))
  return { ...node, entries, mtime }
}

function compareByNames(a: readonly string[], b: readonly string[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareNames(a[i] ?? '', b[i] ?? '')
    if (order !== 0) return order
  }
  return a.length - b.length
}
