/** Which modules import which, and what follows from that. */
import { dirname, join } from 'node:path/posix'
import { importsOf, type Import } from './imports.ts'
import type { SourceFile } from './source-tree.ts'

/** Every module by its path, with the paths of those it imports. */
export type Graph = ReadonlyMap<string, readonly string[]>

/** Imports of anything but the given modules are left out. */
export function graphOf(files: readonly SourceFile[], ...kinds: readonly Import['kind'][]): Graph {
  const known = new Set(files.map(({ path }) => path))
  return new Map(
    files.map((file) => {
      const wanted = importsOf(file).filter(({ kind }) => kinds.includes(kind))
      const targets = wanted.map(({ specifier }) => targetOf(file, specifier)).filter((path) => known.has(path))
      return [file.path, [...new Set(targets)]]
    }),
  )
}

/** From the root of the project; what is not relative stays as it is. */
export const targetOf = ({ path }: SourceFile, specifier: string): string =>
  specifier.startsWith('.') ? join(dirname(path), specifier) : specifier

export function reachedFrom(graph: Graph, entries: readonly string[]): ReadonlySet<string> {
  const reached = new Set(entries)
  // A set that grows while it is walked is walked to its end.
  for (const path of reached) for (const target of graph.get(path) ?? []) reached.add(target)
  return reached
}

/** Modules that import each other, directly or not, one list for each knot of them (Tarjan's components). */
export function cyclesIn(graph: Graph): readonly (readonly string[])[] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []
  const lower = (path: string, to: number): void => void lowest.set(path, Math.min(lowest.get(path) ?? Infinity, to))
  const visit = (path: string): void => {
    order.set(path, order.size)
    lower(path, order.size - 1)
    stack.push(path)
    for (const target of graph.get(path) ?? []) {
      if (!order.has(target)) visit(target)
      if (stack.includes(target)) lower(path, lowest.get(target) ?? Infinity)
    }
    if (lowest.get(path) !== order.get(path)) return
    const knot = stack.splice(stack.indexOf(path))
    if (knot.length > 1 || graph.get(path)?.includes(path) === true) cycles.push(knot.toSorted())
  }
  for (const path of graph.keys()) if (!order.has(path)) visit(path)
  return cycles
}
