import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { native } from '../../../../sys/syscalls/native.ts'
import { directoryFlags, errnoOf } from '../../../../sys/safe-fs/descriptors.ts'
import { atBytes } from '../../../../sys/trees/names.ts'
import { decodeStat, kindOf, type StatFingerprint } from '../../../../sys/trees/stat.ts'
import { type Visit, visitPaths, walkTree } from '../../../../sys/trees/walk.ts'

/** What a layer says about the tree below it. Paths as bytes. */

export interface LayerEntry extends Visit {
  /**
   * `gone`: there is nothing any more; `whole`: what the layer has is all there is, or it shows a directory that was
   * elsewhere before; `part`: a directory that shows the one below too.
   */
  readonly says: 'gone' | 'whole' | 'part'
}

/** Everything in a layer, in the order of paths. */
export function* walkLayer(top: number): Generator<LayerEntry, void, void> {
  for (const visit of walkTree(top)) yield { ...visit, says: effectOf(visit) }
}

function effectOf({ directory, name, print }: Visit): LayerEntry['says'] {
  if (kindOf(print) === 'directory') return isMerged(atBytes(directory, name)) ? 'part' : 'whole'
  return isWhiteout(print) ? 'gone' : 'whole'
}

function isWhiteout(print: StatFingerprint): boolean {
  if (kindOf(print) !== 'char') return false
  const { major, minor } = decodeStat(print)
  return major === 0 && minor === 0
}

const isMerged = (path: string | Buffer): boolean =>
  ['opaque', 'redirect'].every((name) => overlayAttribute(path, name) === undefined)

/** An ordinary user's overlays have notes that need no privileges. */
const prefix = process.getuid?.() === 0 ? 'trusted.overlay.' : 'user.overlay.'

/** What the kernel has noted about a thing in a layer. */
export function overlayAttribute(path: string | Buffer, name: string): string | undefined {
  try {
    return native()?.lgetxattr(path, `${prefix}${name}`).toString('latin1')
  } catch (error) {
    if (['ENODATA', 'ENOTSUP', 'EOPNOTSUPP', 'ENOENT'].includes(errnoOf(error))) return undefined
    throw error
  }
}

/**
 * The paths at which two trees may differ that are made of these layers over the same ones: all that the layers name,
 * and below what they replace all that either tree shows.
 */
export function candidatePaths(layers: readonly string[], views: readonly string[]): Set<string> {
  const found = new Set<string>()
  const replaced = new Set<string>()
  for (const layer of layers) {
    withDirectory(layer, (top) => {
      for (const { path, says } of walkLayer(top)) {
        found.add(path)
        if (says !== 'part') replaced.add(path)
      }
    })
  }
  const paths = [...replaced].toSorted()
  for (const view of views) withDirectory(view, (top) => expand(top, paths, found))
  return found
}

function expand(top: number, paths: readonly string[], found: Set<string>): void {
  for (const { path, name, directory, print } of visitPaths(top, paths)) {
    if (kindOf(print) !== 'directory') continue
    const fd = fs.openSync(atBytes(directory, name), directoryFlags)
    try {
      for (const below of walkTree(fd)) found.add(`${path}/${below.path}`)
    } finally {
      fs.closeSync(fd)
    }
  }
}

export interface LayerState {
  /** Equal if and only if nothing in the layer was touched meanwhile. */
  readonly hash: string
  /** When the last change was made to it, in nanoseconds since 1970. */
  readonly latest: bigint
}

/** Of a layer that others may write to. */
export function stateOf(layer: string): LayerState {
  return withDirectory(layer, (top) => {
    const hash = createHash('sha256')
    let latest = 0n
    const add = (path: string, print: StatFingerprint): void => {
      hash.update(`${path}\0${print}`, 'latin1')
      const { ctimeNs } = decodeStat(print)
      if (ctimeNs > latest) latest = ctimeNs
    }
    for (const { path, print } of walkTree(top)) add(path, print)
    return { hash: hash.digest('hex'), latest }
  })
}

export function withDirectory<T>(path: string, use: (fd: number) => T): T {
  const fd = fs.openSync(path, directoryFlags)
  try {
    return use(fd)
  } finally {
    fs.closeSync(fd)
  }
}
