import { walkNodes, type Disk, type FileNode } from './disk.ts'
import { contentText, type Entry, type ReadOptions, type Tree } from '../support/tree.ts'

/** As `makeTree` and `readTree`, on a disk in memory. */

export function makeMemoryTree(disk: Disk, root: string, tree: Tree): void {
  disk.makeDirectory(root)
  const at = (mtime: number | undefined): Date => (mtime === undefined ? disk.now() : new Date(mtime * 1000))
  for (const [path, entry] of Object.entries(tree)) {
    const full = `${root}/${path}`
    if (entry.kind === 'directory') {
      Object.assign(disk.makeDirectory(full), { mode: entry.mode ?? 0o755, mtime: at(entry.mtime) })
    } else if (entry.kind === 'symlink') disk.put(full, { kind: 'symlink', target: entry.target, mtime: disk.now() })
    else if (entry.kind === 'hardlink') disk.put(full, disk.at(`${root}/${entry.to}`) as FileNode)
    else if (entry.kind === 'fifo') disk.put(full, { kind: 'fifo', mtime: disk.now() })
    else {
      const bytes = Buffer.from(entry.content, 'latin1')
      disk.put(full, { kind: 'file', bytes, mode: entry.mode ?? 0o644, mtime: at(entry.mtime) })
    }
  }
}

export function readMemoryTree(disk: Disk, root: string, options: ReadOptions = {}): Tree {
  const { times = false, modes = true, except = [] } = options
  const directory = disk.directory(root)
  if (directory === undefined) throw new Error(`There is no directory ${root}`)
  const tree: Record<string, Entry> = {}
  const seen = new Map<unknown, string>()
  const nodes = [...walkNodes(directory)].toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [path, node] of nodes) {
    if (except.some((left) => path === left || path.startsWith(`${left}/`))) continue
    const twin = seen.get(node)
    const mode = node.kind === 'file' || node.kind === 'directory' ? node.mode : 0o777
    const about = { ...(modes && { mode }), ...(times && { mtime: node.mtime.getTime() / 1000 }) }
    if (twin !== undefined) tree[path] = { kind: 'hardlink', to: twin }
    else if (node.kind === 'directory') tree[path] = { kind: 'directory', ...about }
    else if (node.kind === 'symlink') tree[path] = { kind: 'symlink', target: node.target }
    else if (node.kind === 'file') tree[path] = { kind: 'file', content: contentText(node.bytes), ...about }
    else tree[path] = { kind: 'fifo' }
    if (node.kind === 'file') seen.set(node, path)
  }
  return tree
}
