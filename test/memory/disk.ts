import { AwError } from '../../src/domain/errors.ts'
import { splitPath } from '../../src/domain/paths.ts'

/**
 * A disk in the memory of one process, with directories, files, links and nothing else that matters: no owners, no
 * permissions, no failures. Files and links never change, they are replaced, so a file with two names is one object in
 * two directories.
 */
export interface Disk {
  readonly root: DirectoryNode
  now(): Date
  /** What is at an absolute path; links on the way are followed, one at the end is not. */
  at(path: string): Node | undefined
  directory(path: string): DirectoryNode | undefined
  /** Makes the directory and its parents. */
  makeDirectory(path: string, mode?: number): DirectoryNode
  put(path: string, node: Node): void
  remove(path: string): boolean
}

export type Node = FileNode | LinkNode | SpecialNode | DirectoryNode

export interface FileNode {
  readonly kind: 'file'
  readonly bytes: Buffer
  readonly mode: number
  readonly mtime: Date
}

export interface LinkNode {
  readonly kind: 'symlink'
  readonly target: string
  readonly mtime: Date
}

export interface SpecialNode {
  readonly kind: 'fifo' | 'socket' | 'char'
  readonly mtime: Date
}

export interface DirectoryNode {
  readonly kind: 'directory'
  readonly entries: Map<string, Node>
  mode: number
  mtime: Date
}

export function memoryDisk(now: () => Date): Disk {
  const fresh = (mode = 0o755): DirectoryNode => ({ kind: 'directory', entries: new Map(), mode, mtime: now() })
  const root = fresh()

  function at(path: string, links = 0): Node | undefined {
    let here: Node | undefined = root
    const passed: string[] = []
    for (const name of splitPath(path)) {
      if (here?.kind === 'symlink') here = links < 40 ? at(targetOf(here, passed), links + 1) : undefined
      here = here?.kind === 'directory' ? here.entries.get(name) : undefined
      passed.push(name)
    }
    return here
  }

  function directory(path: string): DirectoryNode | undefined {
    let here = at(path)
    for (let links = 0; here?.kind === 'symlink' && links < 40; links++) here = at(targetOf(here, splitPath(path)))
    return here?.kind === 'directory' ? here : undefined
  }

  function makeDirectory(path: string, mode?: number): DirectoryNode {
    const found = directory(path)
    if (found !== undefined) return found
    if (at(path) !== undefined) throw new AwError('not_a_directory', `Not a directory: ${path}`)
    const made = fresh(mode)
    makeDirectory(parentOf(path), mode).entries.set(nameOf(path), made)
    return made
  }

  return {
    root,
    now,
    at,
    directory,
    makeDirectory,
    put: (path, node) => void makeDirectory(parentOf(path)).entries.set(nameOf(path), node),
    remove: (path) => directory(parentOf(path))?.entries.delete(nameOf(path)) ?? false,
  }
}

const targetOf = ({ target }: LinkNode, passed: readonly string[]): string =>
  target.startsWith('/') ? target : `/${[...passed.slice(0, -1), target].join('/')}`

const nameOf = (path: string): string => splitPath(path).at(-1) ?? ''
export const parentOf = (path: string): string => `/${splitPath(path).slice(0, -1).join('/')}`

/** Every name below a directory, a directory before what is in it. */
export function* walkNodes(directory: DirectoryNode, prefix = ''): Generator<[path: string, node: Node]> {
  for (const [name, node] of directory.entries) {
    yield [prefix + name, node]
    if (node.kind === 'directory') yield* walkNodes(node, `${prefix}${name}/`)
  }
}
