import { walkNodes, type DirectoryNode, type FileNode, type Node } from './disk.ts'
import type { Edit } from '../support/edits.ts'

/** As `editHost`, on a tree in memory, with the rules of a Linux file system. Throws where that would fail. */
export function editMemory(tree: DirectoryNode, edit: Edit, now: Date): void {
  const here = placeOf(tree, edit.path)
  switch (edit.do) {
    case 'write':
      return write(tree, here, () => Buffer.from(edit.content, 'latin1'), now)
    case 'append':
      return write(tree, here, (old) => Buffer.concat([old, Buffer.from(edit.content, 'latin1')]), now)
    case 'forge': {
      const old = fileAt(here)
      assert(old.bytes.length === edit.content.length)
      return replace(tree, old, { ...old, bytes: Buffer.from(edit.content, 'latin1') })
    }
    case 'truncate': {
      const old = fileAt(here)
      const bytes = Buffer.alloc(edit.size)
      old.bytes.copy(bytes)
      return replace(tree, old, { ...old, bytes, mtime: now })
    }
    case 'mkdir':
      return add(here, { kind: 'directory', entries: new Map(), mode: 0o755, mtime: now })
    case 'fifo':
      return add(here, { kind: 'fifo', mtime: now })
    case 'remove':
      assert(here.directory.entries.delete(here.name))
      return
    case 'rename':
      return rename(here, placeOf(tree, edit.to), `${edit.to}/`.startsWith(`${edit.path}/`))
    case 'link':
      return add(here, fileAt(placeOf(tree, edit.to)))
    case 'symlink':
      assert(edit.target !== '')
      return add(here, { kind: 'symlink', target: edit.target, mtime: now })
    case 'chmod':
      return dress(tree, here, { mode: edit.mode })
    default:
      return dress(tree, here, { mtime: new Date(edit.mtime * 1000) })
  }
}

interface Here {
  readonly directory: DirectoryNode
  readonly name: string
}

function assert(fits: unknown): asserts fits {
  if (!fits) throw new Error('a Linux file system would refuse this')
}

const nodeAt = ({ directory, name }: Here): Node | undefined => directory.entries.get(name)

function placeOf(tree: DirectoryNode, path: string): Here {
  const names = path.split('/')
  let directory = tree
  for (const name of names.slice(0, -1)) {
    const next = directory.entries.get(name)
    assert(next?.kind === 'directory')
    directory = next
  }
  return { directory, name: names.at(-1) ?? '' }
}

function fileAt(here: Here): FileNode {
  const node = nodeAt(here)
  assert(node?.kind === 'file')
  return node
}

function add(here: Here, node: Node): void {
  assert(nodeAt(here) === undefined)
  here.directory.entries.set(here.name, node)
}

/** Files never change, they are replaced: under all their names. */
function replace(tree: DirectoryNode, old: FileNode, next: FileNode): void {
  for (const directory of [tree, ...[...walkNodes(tree)].map(([, node]) => node)]) {
    if (directory.kind !== 'directory') continue
    for (const [name, node] of directory.entries) if (node === old) directory.entries.set(name, next)
  }
}

function write(tree: DirectoryNode, here: Here, content: (old: Buffer) => Buffer, now: Date): void {
  if (nodeAt(here) === undefined)
    return add(here, { kind: 'file', bytes: content(Buffer.alloc(0)), mode: 0o644, mtime: now })
  const old = fileAt(here)
  replace(tree, old, { ...old, bytes: content(old.bytes), mtime: now })
}

function rename(from: Here, to: Here, intoItself: boolean): void {
  const [node, there] = [nodeAt(from), nodeAt(to)]
  assert(node !== undefined)
  // Two names of one file, or one name twice: the kernel does nothing.
  if (node === there) return
  assert(!intoItself)
  if (there?.kind === 'directory') assert(node.kind === 'directory' && there.entries.size === 0)
  else assert(there === undefined || node.kind !== 'directory')
  from.directory.entries.delete(from.name)
  to.directory.entries.set(to.name, node)
}

function dress(tree: DirectoryNode, here: Here, about: { mode?: number; mtime?: Date }): void {
  const node = nodeAt(here)
  assert(node?.kind === 'file' || node?.kind === 'directory')
  if (node.kind === 'directory') Object.assign(node, about)
  else replace(tree, node, { ...node, ...about })
}
