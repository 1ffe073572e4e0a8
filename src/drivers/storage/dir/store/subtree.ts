import { escapePath } from '../../../../domain/text/escape-path.ts'
import { nameOf } from '../../../../sys/trees/directory-cache.ts'
import { isLinkedLine, parseEntry } from './entry.ts'
import { hardLinkKey } from './materialise.ts'

/**
 * The part of a tree that a path leads to, by itself: of a directory what is in it, of anything else that alone, under
 * its own name. Undefined if there is nothing.
 */
export function subtreeOf(
  lines: readonly string[],
  path: string,
): { lines: readonly string[]; single: boolean } | undefined {
  if (path === '.') return { lines, single: false }
  const start = escapePath(path)
  const about = lines.find((line) => line.startsWith(`${start} `))?.slice(start.length)
  if (about === undefined) return undefined
  if (!about.startsWith(' d ')) return { lines: [`${nameOf(start)}${about}`], single: true }
  const below = lines.filter((line) => line.startsWith(`${start}/`)).map((line) => line.slice(start.length + 1))
  return { lines: [`.${about}`, ...below], single: false }
}

/** The lines of that part as they are. */
export function linesBelow(lines: readonly string[], path: string): readonly string[] {
  if (path === '.') return lines
  const start = escapePath(path)
  return lines.filter((line) => line.startsWith(`${start}/`) || line.startsWith(`${start} `))
}

/** Files of that part that have names outside of it too: all that they have in it, from the top. */
export function linkedOutside(lines: readonly string[], path: string): string[] {
  if (path === '.') return []
  const linked = lines.filter(isLinkedLine).map(parseEntry)
  const isInside = (one: string): boolean => one === path || one.startsWith(`${path}/`)
  const outside = new Set(linked.filter((entry) => !isInside(entry.path)).map(hardLinkKey))
  return linked.filter((entry) => isInside(entry.path) && outside.has(hardLinkKey(entry))).map((entry) => entry.path)
}
