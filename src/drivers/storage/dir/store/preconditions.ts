import * as fs from 'node:fs'
import { AwError } from '../../../../domain/errors.ts'
import { isTemporaryName } from '../../../../domain/paths.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { shareBlocks } from '../../../../sys/safe-fs/write/copy-content.ts'
import { changed } from './apply.ts'
import { nameOf } from '../../../../sys/trees/directory-cache.ts'
import { type Entry, parseEntry } from './entry.ts'
import { contentLost } from './make-entry.ts'
import { linesByPath, type Manifest } from './manifest.ts'
import { openObjects } from './objects.ts'
import type { Plan } from './plan.ts'
import type { KnownEntry } from './scan/stat-index.ts'
import { type Store, unlinkIfPresent } from './store.ts'

/** Before a tree is touched: all that is to be made is there, and there is roughly enough room for it. */
export function assertRestorable(store: Store, found: ReadonlyMap<string, KnownEntry>, { remove, make }: Plan): void {
  const objects = openObjects(store.root)
  let [needed, largest] = [0, 0]
  let one: string | undefined
  for (const entry of make) {
    if (entry.kind !== 'file' || entry.size === 0) continue
    const path = objects.path(entry.content)
    const stat = fs.lstatSync(path, { throwIfNoEntry: false })
    if (stat?.size !== entry.size) throw contentLost(entry)
    const bytes = Math.min(stat.size, stat.blocks * 512)
    needed += bytes
    largest = Math.max(largest, bytes)
    one = path
  }
  if (one === undefined) return
  const replaced = [...remove, ...make.map(({ path }) => path)].map((path) => found.get(path))
  const freed = replaced.reduce((sum, known) => sum + (known ? parseEntry(known.line).size : 0), 0)
  const { bavail, bsize } = fs.statfsSync(store.root)
  const room = bavail * bsize
  if (Math.max(largest, needed - freed) <= room || canShare(store, one)) return
  throw new AwError('disk_full', 'There is not enough room on the disk to restore this', {
    hint: 'Free some space, and try again; nothing was changed',
    data: { needed: Math.max(largest, needed - freed), free: room },
  })
}

function canShare(store: Store, path: string): boolean {
  const temporary = store.incoming('share')
  const [from, to] = [fs.openSync(path, 'r'), hostFs.createSync(temporary, 0o600)]
  try {
    return shareBlocks(from, to)
  } finally {
    for (const fd of [from, to]) fs.closeSync(fd)
    unlinkIfPresent(temporary)
  }
}

/** Nothing goes that is in none of these frozen trees: it would be the only copy. */
export function assertNothingLost(
  found: ReadonlyMap<string, KnownEntry>,
  { remove, make }: Plan,
  frozen: readonly (Manifest | undefined)[],
): void {
  const trees = frozen.flatMap((manifest) => (manifest === undefined ? [] : [linesByPath(manifest)]))
  for (const path of [...remove, ...make.map((entry) => entry.path)]) {
    const line = found.get(path)?.line
    if (line === undefined || isTemporaryName(nameOf(path))) continue
    const entry = parseEntry(line)
    if (entry.kind !== 'directory' && !trees.some((tree) => isIn(tree, entry))) throw changed(path)
  }
}

function isIn(tree: ReadonlyMap<string, string>, { path, kind, content }: Entry): boolean {
  const line = tree.get(path)
  if (line === undefined) return false
  const other = parseEntry(line)
  return other.kind === kind && other.content === content
}
