import { fstatSync, type Stats } from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import { parsePath, quotePath } from '../../../domain/paths.ts'
import { identity } from '../../../sys/safe-fs/descriptors.ts'
import { refusal } from '../../../sys/safe-fs/errors.ts'
import { parseRequest } from '../../../sys/safe-fs/request.ts'
import { openTree as openBelow, type Root } from '../../../sys/safe-fs/root.ts'
import { withResolvedEntry } from '../../../sys/safe-fs/walk.ts'

/** A tree that a box is to show, open: whatever has its path later, this is the one. */
export interface BoxTree extends Disposable {
  readonly root: Root
  readonly identity: string
  readonly owner: number
}

/** A link in the place of the tree is refused. */
export function openBoxTree(path: string): BoxTree {
  // The walk needs nothing loaded, and says yes and no as the kernel's own resolver does.
  const root = openBelow(path, { resolver: 'walk' })
  return {
    root,
    identity: identity(root.fd),
    owner: fstatSync(root.fd).uid,
    [Symbol.dispose]: () => root[Symbol.dispose](),
  }
}

/** @param what the path, or what has noticed it */
export const anotherTree = (what: string): AwError =>
  new AwError('path_outside_workspace', `Another directory is now where the workspace was: ${what}`, {
    hint: 'Put the directory back that was there; to see what else is wrong, run: aw doctor',
  })

interface Inside {
  readonly tree: { readonly path: string; readonly identity: string | null }
  /** Where the box has it. */
  readonly inside: string
}

/**
 * Where a command begins, as the box sees it: a directory below the tree, without links and `..` on the way. What leads
 * out is refused with the code that says how. Of a tree that only the box sees, the path is checked as it is written:
 * where links lead there, the box's own walls decide.
 */
export function directoryInside({ tree, inside }: Inside, cwd: string): string {
  if (tree.identity === null) {
    const { names } = parsePath(cwd, { roots: [inside] })
    return join(inside, resolveDotDot(cwd, names))
  }
  using root = openBelow(tree.path, { resolver: 'walk', publicRoot: inside })
  if (identity(root.fd) !== tree.identity) throw replaced(tree.path)
  return withResolvedEntry(root, parseRequest(root, cwd, {}), { follow: true }, ({ names, stats }) => {
    if (stats === undefined) throw refusal('file_not_found', cwd)
    if (!stats.isDirectory()) throw refusal('not_a_directory', cwd)
    return join(inside, names)
  })
}

const join = (inside: string, names: readonly string[]): string =>
  names.length === 0 ? inside : `${inside === '/' ? '' : inside}/${names.join('/')}`

function resolveDotDot(path: string, names: readonly string[]): string[] {
  const result: string[] = []
  for (const name of names) {
    if (name !== '..') result.push(name)
    else if (result.pop() === undefined) throw refusal('path_traversal_attempt', path)
  }
  return result
}

const replaced = (path: string): AwError =>
  new AwError('invalid_state', `Another directory is now at ${quotePath(path)}: the sandbox shows the one before`, {
    hint: 'Stop the sandbox and start it again',
    data: { path },
  })

/** What a name below the tree is, with every link on the way refused: nothing of it may be somewhere else. */
export function statBelow(root: Root, names: readonly string[]): Stats | undefined {
  return withResolvedEntry(
    root,
    { names, directory: false, rebased: false },
    { follow: false, missing: 'answer' },
    ({ stats, names: reached, rest }) => {
      // A link on the way has led to other names.
      if (reached.join('/') === names.slice(0, names.length - rest.length).join('/')) return stats
      throw new AwError('symlink_outside_workspace', `There is a link on the way to ${quotePath(names.join('/'))}`)
    },
  )
}
