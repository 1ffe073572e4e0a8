import type { Outputs } from '../../../api/table.ts'
import { visible } from '../../../domain/text/visible.ts'
import type { Rendered, View } from '../view.ts'

type Entry = NonNullable<Outputs['fs tree']['entries']>[number]

/** Drawn on a terminal; in a pipe one path a line, a directory with a slash at its end. */
export function tree(output: Outputs['fs tree'], view: View): Rendered {
  const { entries, truncated, unreadable } = output
  if (entries === undefined) return { out: JSON.stringify(output.tree, null, 2) }
  const lines = view.terminal ? draw(entries, view) : entries.map(pathText)
  const notes = [
    truncated ? 'There is more than this: raise --max-entries or --max-depth' : '',
    unreadable.length > 0 ? `Could not be read: ${unreadable.map(visible).join(', ')}` : '',
  ].filter((text) => text !== '')
  return { out: lines.join('\n'), ...(notes.length > 0 ? { note: notes.join('\n') } : {}) }
}

const pathText = ({ path, kind }: Entry): string => visible(path) + (kind === 'directory' ? '/' : '')

interface Branch {
  readonly children: Map<string, Branch>
  kind: string
}

function draw(entries: readonly Entry[], view: View): string[] {
  const root: Branch = { children: new Map(), kind: 'directory' }
  for (const { path, kind, escapes } of entries) {
    let branch = root
    for (const part of path.split('/')) {
      const next = branch.children.get(part) ?? { children: new Map<string, Branch>(), kind: 'directory' }
      branch.children.set(part, next)
      branch = next
    }
    branch.kind = escapes === true ? `${kind}, leads out of the workspace` : kind
  }
  return ['.', ...drawBelow(root, '', view)]
}

function drawBelow({ children }: Branch, indent: string, view: View): string[] {
  const last = children.size - 1
  return [...children].flatMap(([name, branch], i) => {
    const end = i === last
    const isDirectory = branch.kind === 'directory'
    const label = isDirectory ? view.paint.blue(`${visible(name)}/`) : visible(name)
    const kind = isDirectory || branch.kind === 'file' ? '' : view.paint.dim(` (${branch.kind})`)
    const head = view.paint.dim(indent + (end ? '└── ' : '├── '))
    return [`${head}${label}${kind}`, ...drawBelow(branch, indent + (end ? '    ' : '│   '), view)]
  })
}
