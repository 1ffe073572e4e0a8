import { snapshotTree, type SnapshotNode } from '../../../domain/workspace/snapshots.ts'

interface Grown {
  readonly id: string
  readonly parent: string | null
  readonly head: boolean
}

/** A line of the drawing: what stands before the snapshot, and what before more text below it. */
export interface GraphLine<T> {
  readonly graph: string
  readonly below: string
  /** The snapshot; or the id of one that others grew from and that is not among them (null: the beginning). */
  readonly at: T | string | null
}

/**
 * Draws snapshots, oldest first, so that a line of them goes straight down and only what leaves the line is indented.
 * The way to the head goes straight; elsewhere the larger part does, which keeps the drawing narrow.
 */
export function snapshotGraph<T extends Grown>(snapshots: readonly T[]): GraphLine<T>[] {
  const tops = snapshotTree(snapshots)
  const weights = weigh(tops)
  const lines: GraphLine<T>[] = []

  function draw(start: SnapshotNode<T>, first: string, rest: string): void {
    let prefix = first
    for (let node: SnapshotNode<T> | undefined = start; node !== undefined; prefix = rest) {
      const [straight, ...sides] = bySize(node.children)
      const mark = node.snapshot.head ? '●' : '○'
      const below = `${rest}${straight === undefined ? '  ' : '│ '}`
      lines.push({ graph: `${prefix}${mark} `, below: sides.length > 0 ? `${rest}│ ` : below, at: node.snapshot })
      leave(sides, rest)
      node = straight
    }
  }
  const leave = (sides: readonly SnapshotNode<T>[], rest: string): void => {
    for (const side of sides.toSorted(byAge)) draw(side, `${rest}├─`, `${rest}│ `)
  }
  /** The heaviest first; of equals the newest. */
  const bySize = (nodes: readonly SnapshotNode<T>[]): SnapshotNode<T>[] =>
    nodes.toReversed().toSorted((a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0))
  const order = new Map(snapshots.map(({ id }, i) => [id, i]))
  const byAge = (a: SnapshotNode<T>, b: SnapshotNode<T>): number =>
    (order.get(a.snapshot.id) ?? 0) - (order.get(b.snapshot.id) ?? 0)

  for (const [parent, children] of Map.groupBy(tops, ({ snapshot }) => snapshot.parent)) {
    // A single beginning needs no mark of its own.
    if (parent !== null || children.length > 1) lines.push({ graph: '◌ ', below: '│ ', at: parent })
    const [straight, ...sides] = bySize(children)
    leave(sides, '')
    if (straight !== undefined) draw(straight, '', '')
  }
  return lines
}

/** How many grew from each, itself included; what leads to the head outweighs everything. */
function weigh<T extends Grown>(tops: readonly SnapshotNode<T>[]): Map<SnapshotNode<T>, number> {
  const downwards = [...tops]
  // The array grows while it is walked: children follow their parents.
  for (const node of downwards) downwards.push(...node.children)
  const weights = new Map<SnapshotNode<T>, number>()
  for (const node of downwards.toReversed()) {
    const below = node.children.reduce((sum, child) => sum + (weights.get(child) ?? 0), 0)
    weights.set(node, node.snapshot.head ? Infinity : below + 1)
  }
  return weights
}
