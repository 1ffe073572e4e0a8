import * as fs from 'node:fs'
import { at, directoryFlags } from '../safe-fs/descriptors.ts'
import { openDirectoryStack, openFrom } from '../safe-fs/directory-stack.ts'
import { hasCode } from '../syscalls/errno.ts'
import { atBytes, nodeName } from './names.ts'
import { type StatFingerprint, statEntry } from './stat.ts'
import { unlock } from './unlock.ts'

/** Something of a tree. Valid until the walk goes on: then the directory may be closed. */
export interface Visit {
  /** From the top, as bytes. */
  readonly path: string
  readonly name: string
  /** The open directory that holds it. */
  readonly directory: number
  readonly print: StatFingerprint
}

export interface WalkOptions {
  /** Names directly below the top that are left out. */
  readonly exclude?: readonly string[] | undefined
  /** Whether to go into a directory that was visited; into each without it. */
  readonly enters?: ((path: string) => boolean) | undefined
  /** Mounts are visited too, as what is seen there; none is gone into. */
  readonly mounts?: boolean | undefined
  /** What a directory was whose mode was widened to read it, now that it has its own again. */
  readonly onRelocked?: ((path: string, print: StatFingerprint) => void) | undefined
}

interface Frame {
  /** Of the directory, with a slash behind it; empty for the top. */
  readonly prefix: string
  /** What is left, the next one last: a name, or with a slash behind it a directory to go into. */
  readonly left: string[]
  readonly unlocked: Disposable | undefined
}

/**
 * Everything below an open directory, ordered by path. Follows no link and opens nothing but directories, each by one
 * name in an open one: what is swapped meanwhile leads nowhere else. Mounts are left out, with what they cover, if
 * nobody asks for them. What goes away meanwhile is left out too. How deep the tree is does not matter.
 */
export function* walkTree(top: number, options: WalkOptions = {}): Generator<Visit, void, void> {
  const levels = openDirectoryStack(top)
  const frames: Frame[] = []
  const mount = statEntry(top, '')?.mount
  try {
    const excluded = new Set(options.exclude?.flatMap((name) => [name, `${name}/`]))
    const first = openFrame(top, '')
    frames.push({ ...first, left: first.left.filter((item) => !excluded.has(item)) })
    for (let frame = frames.at(-1); frame; frame = frames.at(-1)) {
      const next = frame.left.pop()
      if (next === undefined) leave()
      else if (next.endsWith('/')) enter(frame, next.slice(0, -1))
      else {
        const directory = levels.top()
        const seen = statEntry(directory, next)
        if (seen !== undefined && (options.mounts === true || seen.mount === mount))
          yield { path: frame.prefix + next, name: next, directory, print: seen.print }
      }
    }
  } finally {
    while (frames.length > 0) leave()
    levels[Symbol.dispose]()
  }

  function enter({ prefix }: Frame, name: string): void {
    if (options.enters?.(prefix + name) === false) return
    const fd = openDirectory(levels.top(), name)
    if (fd === undefined) return
    let frame: Frame | undefined
    try {
      if (statEntry(fd, '')?.mount === mount) frame = openFrame(fd, `${prefix}${name}/`)
    } finally {
      if (frame === undefined) fs.closeSync(fd)
      else {
        frames.push(frame)
        levels.push(nodeName(name), fd)
      }
    }
  }

  function leave(): void {
    const frame = frames.pop()
    if (frame?.unlocked !== undefined) {
      frame.unlocked[Symbol.dispose]()
      const now = statEntry(levels.top(), '')
      if (now !== undefined) options.onRelocked?.(frame.prefix.slice(0, -1) || '.', now.print)
    }
    levels.pop()
  }
}

/** Undefined if it went away, or became something else. */
function openDirectory(directory: number, name: string): number | undefined {
  try {
    return fs.openSync(atBytes(directory, name), directoryFlags)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return undefined
    throw error
  }
}

function openFrame(fd: number, prefix: string): Frame {
  const unlocked = unlock(fd, 0o500)
  try {
    return { prefix, left: itemsOf(fd), unlocked }
  } catch (error) {
    unlocked?.[Symbol.dispose]()
    throw error
  }
}

/** What is in an open directory, as bytes. */
export const namesIn = (fd: number): string[] => fs.readdirSync(at(fd), { encoding: 'latin1' })

/** The last first. What is in a directory comes where its path with the slash does: `a`, `a-b`, `a/b`. */
function itemsOf(fd: number): string[] {
  const items: string[] = []
  for (const entry of fs.readdirSync(at(fd), { withFileTypes: true, encoding: 'latin1' })) {
    items.push(entry.name)
    if (entry.isDirectory()) items.push(`${entry.name}/`)
  }
  return items.sort().reverse()
}

/** The same for given paths alone, which are in order. */
export function* visitPaths(top: number, paths: readonly string[]): Generator<Visit, void, void> {
  const mount = statEntry(top, '')?.mount
  for (const path of paths) {
    const names = path.split('/')
    const name = names.pop() ?? ''
    using found = find(top, names, name)
    const { directory, seen } = found
    if (seen !== undefined && seen.mount === mount) yield { path, name, directory, print: seen.print }
  }
}

interface Found extends Disposable {
  readonly directory: number
  readonly seen: ReturnType<typeof statEntry>
}

function find(top: number, names: readonly string[], name: string): Found {
  let directory = top
  try {
    directory = openFrom(top, names.map(nodeName))
    return foundIn(directory, statEntry(directory, name), directory === top ? [] : [directory])
  } catch (error) {
    if (directory !== top) fs.closeSync(directory)
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP')) return foundIn(top, undefined, [])
    if (!hasCode(error, 'EACCES')) throw error
    return findUnlocked(top, names, name)
  }
}

/** Step by step: what a directory on the way forbids its owner is allowed for as long as it is looked into. */
function findUnlocked(top: number, names: readonly string[], name: string): Found {
  const held: Held[] = []
  let directory = top
  try {
    for (const step of names) {
      held.push(unlock(directory, 0o100))
      const next = openDirectory(directory, step)
      if (next === undefined) return foundIn(top, undefined, held)
      held.push(next)
      directory = next
    }
    held.push(unlock(directory, 0o100))
    return foundIn(directory, statEntry(directory, name), held)
  } catch (error) {
    letGo(held)
    throw error
  }
}

/** A descriptor to close, or a mode to give back. */
type Held = number | Disposable | undefined

const foundIn = (directory: number, seen: Found['seen'], held: readonly Held[]): Found => ({
  directory,
  seen,
  [Symbol.dispose]: () => letGo(held),
})

function letGo(held: readonly Held[]): void {
  for (const one of held.toReversed()) {
    if (typeof one === 'number') fs.closeSync(one)
    else one?.[Symbol.dispose]()
  }
}
