import * as fs from 'node:fs'
import { maxPathBytes } from '../../../domain/paths.ts'
import type { TreeEntry, TreeOptions, TreeResult } from '../../../ports/files.ts'
import { errnoOf } from '../descriptors.ts'
import { translate } from '../errors.ts'
import { openBelow } from '../open.ts'
import { countOf, parseRequest } from '../request.ts'
import type { Root } from '../root.ts'
import { byKernel, byWalk, kindLetters, type TreeReader } from './tree-readers.ts'

/** Two million names of one letter are about what memory bears; no caller's path is deeper than this. */
const defaultMaxEntries = 2_000_000
const defaultMaxDepth = maxPathBytes / 2

interface Frame {
  readonly prefix: string
  readonly records: readonly string[]
  next: number
}

export function tree(root: Root, path: string, options: TreeOptions = {}): TreeResult {
  const parsed = parseRequest(root, path, options)
  const limits = {
    entries: countOf(options.maxEntries, 'maxEntries', defaultMaxEntries),
    depth: countOf(options.maxDepth, 'maxDepth', defaultMaxDepth),
  }
  const base = openBelow(root, parsed, 'directory')
  const reader = root.resolver === 'openat2' ? byKernel(base) : byWalk(base, root.mount)
  try {
    return list(reader, limits)
  } catch (error) {
    throw translate(error, path)
  } finally {
    reader[Symbol.dispose]()
    fs.closeSync(base)
  }
}

/** Depth first, names in order, so a directory comes right before what is in it. */
function list(reader: TreeReader, limits: { entries: number; depth: number }): TreeResult {
  const entries: TreeEntry[] = []
  const unreadable: string[] = []
  const frames: Frame[] = [{ prefix: '', records: reader.start(), next: 0 }]
  let truncated = limits.depth === 0

  for (let frame = truncated ? undefined : frames.at(-1); frame; frame = frames.at(-1)) {
    const record = frame.records[frame.next++]
    if (record === undefined) {
      frames.pop()
      reader.leave()
      continue
    }
    if (entries.length === limits.entries) {
      truncated = true
      break
    }
    const name = record.slice(0, -2)
    const kind = kindLetters[record.charAt(record.length - 1)] ?? 'char'
    const path = frame.prefix + name
    entries.push({ path, kind })
    if (kind === 'directory') truncated = !descend(name, path) || truncated
  }
  return { entries, truncated, unreadable }

  /** False if a limit forbids it. */
  function descend(name: string, path: string): boolean {
    if (frames.length >= limits.depth || tooLong(path)) return false
    try {
      frames.push({ prefix: `${path}/`, records: reader.enter(name, path), next: 0 })
    } catch (error) {
      if (!isGone(error, name)) unreadable.push(path)
    }
    return true
  }
}

const tooLong = (path: string): boolean =>
  path.length * 3 >= maxPathBytes && Buffer.byteLength(path) >= maxPathBytes - 1

/** A name that is not valid UTF-8 cannot be entered under what is shown of it; it is there all the same. */
const isGone = (error: unknown, name: string): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errnoOf(error)) && !name.includes('\ufffd')
