import {
  folderRules,
  type FolderRules,
  type FolderRulesOptions,
  type ReadRules,
} from '../../../src/domain/sources/folder-rules.ts'
import { gitFileTarget, resolveInside } from '../../../src/domain/git/link.ts'
import type { ImportReport } from '../../../src/ports/storage-driver.ts'
import type { DirectoryNode, FileNode, Node } from '../disk.ts'

/** Copies of trees on a disk in memory. */

export const bytesIn = (files: readonly FileNode[]): number => files.reduce((sum, { bytes }) => sum + bytes.length, 0)

export function nodeAt(tree: DirectoryNode, path: string): Node | undefined {
  let here: Node | undefined = tree
  for (const name of path.split('/')) here = here?.kind === 'directory' ? here.entries.get(name) : undefined
  return here
}

/** As `ImportReport` has it. */
export function apartFrom(tree: DirectoryNode, path: string): string[] {
  if (path === '.') return []
  const all = [...leavesIn(tree)]
  const isInside = (one: string): boolean => one === path || one.startsWith(`${path}/`)
  const outside = new Set(all.filter(([one]) => !isInside(one)).map(([, node]) => node))
  return all.flatMap(([one, node]) => (isInside(one) && outside.has(node) ? [one] : [])).toSorted()
}

function* leavesIn(tree: DirectoryNode, prefix = ''): Generator<readonly [string, Node]> {
  for (const [name, node] of tree.entries)
    if (node.kind === 'directory') yield* leavesIn(node, `${prefix}${name}/`)
    else yield [prefix + name, node]
}

const readIn =
  (directory: DirectoryNode): ReadRules =>
  (path) => {
    const node = nodeAt(directory, path)
    return node?.kind === 'file' ? node.bytes.toString('latin1') : undefined
  }

/** What is left out of a folder. */
export const rulesOf = (folder: DirectoryNode, options: FolderRulesOptions): FolderRules | undefined =>
  folderRules(options, readIn(folder))

interface CopyOptions {
  readonly exclude?: readonly string[]
  /** A folder of somebody, of which only files, links and directories are taken; a tree of our own is copied exactly. */
  readonly isFolder?: boolean
  readonly rules?: FolderRules | undefined
}

/** @param prefix of the directory that it is in, with a slash behind it */
function leadsOut(node: Node, prefix: string): boolean {
  const file = node.kind === 'file' ? gitFileTarget(node.bytes.toString('latin1')) : undefined
  const path = node.kind === 'symlink' ? node.target : file
  return path !== undefined && resolveInside(prefix.split('/').slice(0, -1), path) === undefined
}

export function copyInto(from: DirectoryNode, to: DirectoryNode, options: CopyOptions = {}): ImportReport {
  const { exclude = [], isFolder = false } = options
  const copies = new Map<Node, Node>()
  const skipped: ImportReport['skipped'][number][] = []
  let excluded = 0
  // One with two names stays one, and has nothing to do with the one it was copied from.
  const copyOf = (node: Node): Node => {
    const made = copies.get(node) ?? { ...node }
    copies.set(node, made)
    return made
  }
  const copy = (node: DirectoryNode, target: DirectoryNode, prefix: string, rules: FolderRules | undefined): void => {
    for (const [name, child] of node.entries) {
      const path = prefix + name
      const verdict = rules?.verdict(name, child.kind === 'directory') ?? 'in'
      if (exclude.includes(path)) continue
      if (verdict === 'out') excluded += 1
      else if (child.kind === 'directory') {
        const before = target.entries.get(name)
        const made: DirectoryNode = before?.kind === 'directory' ? before : { ...child, entries: new Map() }
        copy(child, made, `${path}/`, rules?.below(name, verdict, readIn(child)))
        if (verdict === 'in' || made.entries.size > 0) target.entries.set(name, made)
      } else if (isFolder && name === '.git' && leadsOut(child, prefix)) skipped.push({ path, reason: 'foreign_git' })
      else if (!isFolder || child.kind === 'file' || child.kind === 'symlink') {
        target.entries.set(name, copyOf(child))
      } else skipped.push({ path, reason: child.kind === 'char' ? 'device' : child.kind })
    }
    target.mode = node.mode
    target.mtime = node.mtime
  }
  copy(from, to, '', options.rules)
  const files = [...copies.keys()].filter((node) => node.kind === 'file')
  const report = { files: files.length, bytes: bytesIn(files), reflinked: 0, skipped }
  return options.rules ? { ...report, excluded } : report
}
