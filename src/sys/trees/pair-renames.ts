import * as fs from 'node:fs'
import type { DiffEntry } from '../../domain/trees/diff.ts'
import type { Coroutine } from '../safe-fs/coroutine.ts'
import { hashSteps } from './content-hash.ts'
import { decodeStat } from './stat.ts'
import { openIfUnchanged } from './unlock.ts'
import { type Visit, visitPaths } from './walk.ts'

/** One of two trees that are compared: its top, and what the other has not at the same path. */
export interface TreeSide {
  readonly top: number
  readonly entries: Map<string, DiffEntry>
  /** The files with one name among them. */
  readonly lone: readonly Visit[]
}

/** More is not read to find out whether something was only renamed. */
const most = { bytes: 64 * 1024 * 1024, files: 2000 }

/**
 * A file that was written anew under another name, as by a copy or in a layer of its own, has another inode: it counts as
 * renamed if of all that went or came it alone has its content. Gives such two the same identity. Smaller ones come first,
 * and of each size all are read or none: else nobody knows whether a content is there once.
 */
export function* pairByContent(old: TreeSide, now: TreeSide): Coroutine<void> {
  const [left, arrived] = [bySize(unpaired(old, now)), bySize(unpaired(now, old))]
  let { bytes, files } = most
  for (const [size, gone] of [...left].sort(([one], [other]) => one - other)) {
    const come = arrived.get(size) ?? []
    if (come.length === 0) continue
    bytes -= size * (gone.length + come.length)
    files -= gone.length + come.length
    if (bytes < 0 || files < 0) return
    const [olds, news] = [yield* byContent(old.top, gone), yield* byContent(now.top, come)]
    for (const [content, path] of news) {
      const from = olds.get(content)
      if (path === undefined || from === undefined) continue
      identify(old.entries, from, content)
      identify(now.entries, path, content)
    }
  }
}

/** Those that no file of the other tree was renamed from or to, as far as inodes tell. */
function unpaired({ entries, lone }: TreeSide, other: TreeSide): Visit[] {
  const known = new Set(other.lone.flatMap(({ path }) => other.entries.get(path)?.identity ?? []))
  return lone.filter(({ path }) => !known.has(entries.get(path)?.identity ?? ''))
}

/** An empty one tells nothing. */
const bySize = (visits: readonly Visit[]): Map<number, Visit[]> =>
  Map.groupBy(
    visits.filter(({ print }) => decodeStat(print).size > 0),
    ({ print }) => decodeStat(print).size,
  )

/** The path of the one file with a content; undefined if there are several. */
function* byContent(top: number, visits: readonly Visit[]): Coroutine<Map<string, string | undefined>> {
  const found = new Map<string, string | undefined>()
  for (const { path, print } of visits) {
    const content = yield* contentAt(top, path, print)
    if (content !== undefined) found.set(content, found.has(content) ? undefined : path)
    yield
  }
  return found
}

/** Undefined if it is not what it was. */
function* contentAt(top: number, path: string, print: Visit['print']): Coroutine<string | undefined> {
  for (const { directory, name } of visitPaths(top, [path])) {
    const fd = openIfUnchanged(directory, name, print)
    if (fd === undefined) return undefined
    try {
      return (yield* hashSteps(fd)).hash
    } finally {
      fs.closeSync(fd)
    }
  }
  return undefined
}

function identify(entries: Map<string, DiffEntry>, path: string, content: string): void {
  const entry = entries.get(path)
  if (entry !== undefined) entries.set(path, { ...entry, identity: `content ${content}` })
}
