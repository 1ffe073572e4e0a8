import type { Change, Place } from '../../../src/ports/storage-driver.ts'
import { collect } from '../../support/collect.ts'
import { volume, type OpenStorage, type StorageSubject } from '../storage.ts'
import type { Tree } from '../../support/tree.ts'

export const snap = (number: number): Place => ({ area: 'snapshots', name: `sn_${number}` })
export const fork = (number: number): Place => ({ area: 'volumes', name: `ws_fork_${number}` })

/** A small tree with something of each kind. */
export const sample: Tree = {
  a: { kind: 'file', content: 'one\n', mode: 0o644, mtime: 1_600_000_000 },
  b: { kind: 'hardlink', to: 'a' },
  d: { kind: 'directory', mode: 0o755, mtime: 1_600_000_001 },
  'd/e': { kind: 'directory', mode: 0o700, mtime: 1_600_000_002 },
  'd/e/f': { kind: 'file', content: 'deep', mode: 0o600, mtime: 1_600_000_003 },
  'd/empty': { kind: 'directory', mode: 0o755, mtime: 1_600_000_004 },
  l: { kind: 'symlink', target: 'd/e/f' },
  x: { kind: 'file', content: '#!/bin/sh\n', mode: 0o755, mtime: 1_600_000_005 },
}

/** A subject with such a tree as its volume. */
export async function withVolume(open: OpenStorage, tree: Tree = sample): Promise<StorageSubject> {
  const subject = await open()
  await fill(subject, volume, tree)
  return subject
}

export async function fill({ storage, folder }: StorageSubject, place: Place, tree: Tree): Promise<void> {
  await storage.create(place)
  await storage.import(place, { folder: folder(tree) }, { into: '.' })
}

/** Whether a file of a snapshot that has several names is still one file when it is written to. */
export const keepsLinks = ({ storage }: StorageSubject): boolean => storage.capabilities.hardlinks

let looks = 0

/** What is at any place, frozen or not, as an agent would see it. */
export async function treeAt({ storage, read }: StorageSubject, place: Place): Promise<Tree> {
  const isFrozen = place.area === 'snapshots' || place.area === 'bases'
  const seen: Place = isFrozen ? { area: 'tmp', name: `look_${++looks}` } : place
  if (isFrozen) await storage.create(seen, { from: place })
  await storage.ready(seen)
  const tree = read(seen)
  if (isFrozen) await storage.erase(seen)
  return tree
}

export const changes = async (
  { storage }: StorageSubject,
  from: Place,
  to: Place,
  exclude?: readonly string[],
): Promise<Change[]> => collect(storage.diff(from, to, { exclude }))

/**
 * A rename is told where the driver knows it, and is otherwise a removal and an addition: of the directory and of all
 * that is in it. Here it is always the latter, so that drivers can be compared.
 */
export function withoutRenames(told: readonly Change[]): Change[] {
  const plain = told.flatMap((change): Change[] => {
    if (change.change !== 'renamed') return [change]
    const { path, from = '', before, after } = change
    return [
      { path: from, change: 'removed', what: [], before, after: null },
      { path, change: 'added', what: [], before: null, after },
    ]
  })
  return plain.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0))
}
