import * as fs from 'node:fs'
import { at, directoryFlags, type Name } from './descriptors.ts'

/**
 * The way from a base directory down to where a walk is, as descriptors. Only the deepest are kept open: a tree may be
 * deeper than a process may have open files. One that was closed is found again from the base, name by name and
 * without following links, so it is below the base whatever was moved meanwhile.
 */
export interface Levels extends Disposable {
  readonly names: readonly Name[]
  /** The descriptor of the deepest level; the base's if there is none. It stays owned by the levels. */
  top(): number
  /** The one above it. */
  above(): number
  /** Takes over the descriptor. */
  push(name: Name, fd: number): void
  pop(): void
  /** Back to the base. */
  clear(): void
}

const keptOpen = 64

export function openLevels(base: number): Levels {
  const names: Name[] = []
  const open: number[] = []

  const drop = (fd: number | undefined): void => {
    if (fd !== undefined && fd !== -1) fs.closeSync(fd)
  }

  const fdOf = (index: number): number => {
    if (index < 0) return base
    const fd = open[index] ?? -1
    return fd === -1 ? (open[index] = reopen(index)) : fd
  }

  const reopen = (index: number): number => {
    let fd = base
    for (const name of names.slice(0, index + 1)) {
      const parent = fd
      try {
        fd = fs.openSync(at(parent, name), directoryFlags)
      } finally {
        if (parent !== base) fs.closeSync(parent)
      }
    }
    return fd
  }

  const clear = (): void => {
    names.length = 0
    for (const fd of open.splice(0)) drop(fd)
  }

  return {
    names,
    top: () => fdOf(names.length - 1),
    above: () => fdOf(names.length - 2),
    push(name, fd) {
      names.push(name)
      open.push(fd)
      const far = open.length - 1 - keptOpen
      if (far < 0) return
      drop(open[far])
      open[far] = -1
    },
    pop() {
      names.pop()
      drop(open.pop())
    },
    clear,
    [Symbol.dispose]: clear,
  }
}
