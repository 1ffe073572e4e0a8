import * as fs from 'node:fs'
import { hasCode } from '../syscalls/errno.ts'
import { directoryFlags } from '../safe-fs/descriptors.ts'
import { atBytes } from './names.ts'

/** The directories of a tree, open as they are needed: a few at a time, each reached by single names from the top. */
export interface Directories extends Disposable {
  /** `path` of a directory, or `.` for the top. Open until several others were asked for. */
  open(path: string): number
  /** The one that holds a path. */
  holding(path: string): number
  /** Forgets one that is going to be removed, and all below it. */
  forget(path: string): void
}

const maxOpen = 16

/** @param unlock is called with a directory that may not be passed, and makes it passable */
export function openDirectories(top: number, unlock?: (path: string, fd: number) => void): Directories {
  const opened = new Map<string, number>()
  const close = (path: string, fd: number): void => {
    opened.delete(path)
    fs.closeSync(fd)
  }
  const open = (path: string): number => {
    if (path === '.') return top
    const fd = opened.get(path) ?? openBelow(parentOf(path), nameOf(path))
    // The one that was used last is closed last.
    opened.delete(path)
    for (const [oldest, old] of opened) if (opened.size >= maxOpen) close(oldest, old)
    opened.set(path, fd)
    return fd
  }
  const openBelow = (parent: string, name: string): number => {
    const holder = open(parent)
    try {
      return fs.openSync(atBytes(holder, name), directoryFlags)
    } catch (error) {
      if (unlock === undefined || !hasCode(error, 'EACCES')) throw error
      unlock(parent, holder)
      return fs.openSync(atBytes(holder, name), directoryFlags)
    }
  }
  return {
    open,
    holding: (path) => open(parentOf(path)),
    forget(path) {
      for (const [name, fd] of opened) if (name === path || name.startsWith(`${path}/`)) close(name, fd)
    },
    [Symbol.dispose]() {
      for (const [path, fd] of opened) close(path, fd)
    },
  }
}

export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

export const parentOf = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.')
