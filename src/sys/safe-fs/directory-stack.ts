import * as fs from 'node:fs'
import { at, directoryFlags, identity, type Name } from './descriptors.ts'

/**
 * The way from a base directory down to where a walk is, as descriptors. Only the deepest are kept open: a tree may be
 * deeper than a process may have open files. One that was closed is found again as the parent of the one below, if it
 * still is the same directory; else from the base, name by name and without following links, so that it is below the
 * base whatever was moved meanwhile.
 */
export interface DirectoryStack extends Disposable {
  readonly names: readonly Name[]
  /** The descriptor of the deepest level; the base's if there is none. It stays owned by the levels. */
  top(): number
  /** The one above it. */
  above(): number
  /** The one that so many names lead to; 0 is the base. */
  of(depth: number): number
  /** Takes over the descriptor. Without one, the level is opened when it is asked for. */
  push(name: Name, fd?: number): void
  pop(): void
  /** Back to the base. */
  clear(): void
}

const keptOpen = 64

/** An open descriptor; or of one that was closed, which directory it was; or nothing yet. */
type Level = number | string | undefined

export function openDirectoryStack(base: number): DirectoryStack {
  const names: Name[] = []
  const levels: Level[] = []

  /** All before this one are closed. */
  let firstOpen = 0

  const fdOf = (index: number): number => {
    if (index < 0) return base
    const level = levels[index]
    if (typeof level === 'number') return level
    const above = index === 0 ? base : levels[index - 1]
    const fd =
      typeof above === 'number'
        ? openFrom(above, names.slice(index, index + 1))
        : openFrom(base, names.slice(0, index + 1))
    hold(index, fd)
    return fd
  }

  const hold = (index: number, fd: number): void => {
    levels[index] = fd
    firstOpen = Math.min(firstOpen, index)
    for (; firstOpen < index + 1 - keptOpen; firstOpen++) {
      const far = levels[firstOpen]
      if (typeof far !== 'number') continue
      levels[firstOpen] = identity(far)
      fs.closeSync(far)
    }
  }

  const clear = (): void => {
    names.length = 0
    for (const level of levels.splice(0)) if (typeof level === 'number') fs.closeSync(level)
  }

  return {
    names,
    top: () => fdOf(names.length - 1),
    above: () => fdOf(names.length - 2),
    of: (depth) => fdOf(depth - 1),
    push(name, fd) {
      names.push(name)
      levels.push(undefined)
      if (fd !== undefined) hold(levels.length - 1, fd)
    },
    pop() {
      names.pop()
      const left = levels.pop()
      if (typeof left !== 'number') return
      const top = levels.at(-1)
      const parent = typeof top === 'string' ? parentOf(left, top) : undefined
      if (parent !== undefined) hold(levels.length - 1, parent)
      fs.closeSync(left)
    },
    clear,
    [Symbol.dispose]: clear,
  }
}

/** Name by name, without following a link. Answers the base itself if there are no names. */
export function openFrom(base: number, names: readonly Name[]): number {
  let fd = base
  for (const name of names) {
    const parent = fd
    try {
      fd = fs.openSync(at(parent, name), directoryFlags)
    } finally {
      if (parent !== base) fs.closeSync(parent)
    }
  }
  return fd
}

function parentOf(fd: number, expected: string): number | undefined {
  let parent: number
  try {
    parent = fs.openSync(at(fd, '..'), directoryFlags)
  } catch {
    return undefined
  }
  if (identity(parent) === expected) return parent
  fs.closeSync(parent)
  return undefined
}
