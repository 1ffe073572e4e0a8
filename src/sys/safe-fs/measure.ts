import * as fs from 'node:fs'
import { at, directoryFlags, errnoOf, mountId, type Name } from './descriptors.ts'
import { named } from './errors.ts'
import { openLevels } from './levels.ts'
import { readNames } from './list.ts'
import { runPolitely, type Steps } from './steps.ts'

export interface Measure {
  /** The sizes of all regular files. A file with several names counts once. */
  readonly bytes: number
  /** How many regular files that is. */
  readonly files: number
  /** False if counting stopped at `maxFiles`. */
  readonly complete: boolean
}

/** Counts a tree without following links or crossing mounts. What cannot be read, or goes away, is not counted. */
export async function measureTree(
  dir: string,
  options: { signal?: AbortSignal | undefined; maxFiles?: number | undefined } = {},
): Promise<Measure> {
  if (options.maxFiles === 0) return { bytes: 0, files: 0, complete: false }
  const fd = named(dir, () => fs.openSync(dir, directoryFlags))
  try {
    return await runPolitely(measureSteps(fd, options.maxFiles ?? Infinity), options.signal)
  } finally {
    fs.closeSync(fd)
  }
}

function* measureSteps(base: number, maxFiles: number): Steps<Measure> {
  const mount = mountId(base)
  const levels = openLevels(base)
  const left: Name[][] = [readNames(base)]
  const seen = new Set<string>()
  let [bytes, files] = [0, 0]
  try {
    for (let names = left.at(-1); names; names = left.at(-1)) {
      const name = names.pop()
      if (name === undefined) {
        left.pop()
        levels.pop()
      } else {
        const stats = fs.lstatSync(at(levels.top(), name), { throwIfNoEntry: false })
        if (stats?.isDirectory()) enter(name)
        if (stats?.isFile() && isNew(stats)) {
          bytes += stats.size
          files += 1
          if (files >= maxFiles) return { bytes, files, complete: false }
        }
      }
      yield
    }
    return { bytes, files, complete: true }
  } finally {
    levels[Symbol.dispose]()
  }

  function isNew(stats: fs.Stats): boolean {
    if (stats.nlink === 1) return true
    const key = `${stats.dev}:${stats.ino}`
    return !seen.has(key) && Boolean(seen.add(key))
  }

  function enter(name: Name): void {
    let fd: number | undefined
    try {
      fd = fs.openSync(at(levels.top(), name), directoryFlags)
      const names = mountId(fd) === mount ? readNames(fd) : []
      left.push(names)
      levels.push(name, fd)
    } catch (error) {
      if (fd !== undefined) fs.closeSync(fd)
      if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES'].includes(errnoOf(error))) throw error
    }
  }
}
