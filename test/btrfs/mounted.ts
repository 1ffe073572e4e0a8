import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { btrfsStorage } from '../../src/drivers/storage/btrfs.ts'
import type { StorageDriver } from '../../src/ports/storage-driver.ts'
import { hostSubject } from '../../src/testing/host-subject.ts'
import type { StorageSubject } from '../../src/testing/storage-contract.ts'

/** A directory on a btrfs that is there for these tests alone. */
export const mount = process.env['AW_TEST_BTRFS'] ?? ''

export const isRoot = process.getuid?.() === 0

export interface Opened {
  readonly storage: StorageDriver
  readonly root: string
  readonly claim: string
  readonly remove: () => void
}

export function openRoot(): Opened {
  const dir = fs.mkdtempSync(join(mount, 'root-'))
  const [root, claim] = [join(dir, 'storage'), join(dir, 'storage.id')]
  return { storage: btrfsStorage({ root, claim }), root, claim, remove: () => removeTrees(dir) }
}

/** The folders are elsewhere: blocks that a tree shares with a folder are not its own. */
export function subject(): StorageSubject {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-btrfs-'))
  const dir = fs.mkdtempSync(join(mount, 'root-'))
  const [root, claim] = [join(dir, 'storage'), join(dir, 'storage.id')]
  return hostSubject({ base, root, open: () => btrfsStorage({ root, claim }), close: () => removeTrees(dir) })
}

/** Snapshots are read-only until they are told not to be. */
export function removeTrees(dir: string): void {
  const trees = ['snapshots', 'bases', 'work'].flatMap((area) => {
    const path = join(dir, 'storage', area)
    return fs.existsSync(path) ? fs.readdirSync(path).map((name) => join(path, name)) : []
  })
  for (const tree of trees) execFileSync('btrfs', ['property', 'set', tree, 'ro', 'false'])
  if (!isRoot) execFileSync('chmod', ['-R', 'u+rwX', dir])
  execFileSync('rm', ['-rf', dir])
}
