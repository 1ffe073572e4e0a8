/** A directory: each name is a file or another directory. It has no prototype: any name is safe. */
export interface NestedTree {
  [name: string]: 'file' | NestedTree
}

/**
 * Turns a flat listing into nested maps. Files and directories only: links and special files are left out.
 */
export function nest(entries: Iterable<{ readonly path: string; readonly kind: string }>): NestedTree {
  const root = emptyTree()
  for (const { path, kind } of entries) {
    if (kind !== 'file' && kind !== 'directory') continue
    const names = path.split('/')
    const name = names.pop() ?? ''
    const parent = names.reduce(child, root)
    if (kind === 'file') parent[name] = 'file'
    else child(parent, name)
  }
  return root
}

const emptyTree = (): NestedTree => Object.create(null) as NestedTree

function child(tree: NestedTree, name: string): NestedTree {
  const existing = tree[name]
  if (existing !== undefined && existing !== 'file') return existing
  return (tree[name] = emptyTree())
}
