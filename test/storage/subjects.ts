import { existsSync, mkdtempSync, readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { btrfsStorage } from '../../src/drivers/storage/btrfs/driver.ts'
import { dirStorage } from '../../src/drivers/storage/dir/driver.ts'
import { overlayStorage } from '../../src/drivers/storage/overlay/driver.ts'
import type { StorageDriver } from '../../src/ports/storage-driver.ts'
import { btrfs } from '../../src/drivers/storage/btrfs/kernel/ioctls.ts'
import { withSubvolume } from '../../src/drivers/storage/btrfs/kernel/subvolume.ts'
import { hostSubject, type Look } from '../support/host-subject.ts'
import type { OpenStorage } from '../contracts/storage.ts'
import { isRoot } from '../contracts/storage/host.ts'
import { lookInto } from './mount-tree.ts'
import { letGo } from './unmount-below.ts'

/** The drivers whose trees are on the host, each with a root of its own below the directory for temporary files. */
export const subjects = {
  dir: opener('dir', dirStorage),
  btrfs: opener('btrfs', btrfsStorage, letRemove),
  overlay: opener('overlay', overlayStorage, isRoot ? letGo : undefined, isRoot ? undefined : lookInto),
} satisfies Record<string, OpenStorage>

export type HostDriver = keyof typeof subjects

function opener(
  name: string,
  make: (options: { root: string; claim: string }) => StorageDriver,
  close?: (base: string) => void,
  look?: Look,
): OpenStorage {
  return async () => {
    const base = mkdtempSync(join(tmpdir(), `aw-${name}-`))
    const root = join(base, 'storage')
    return hostSubject({
      base,
      root,
      open: () => make({ root, claim: join(base, 'storage.id') }),
      ...(look && { look }),
      close: () => close?.(base),
    })
  }
}

/** Snapshots are read-only, also to `rm`, until they are told not to be. */
function letRemove(base: string): void {
  const root = join(base, 'storage')
  for (const area of existsSync(root) ? readdirSync(root, { withFileTypes: true }) : []) {
    if (!area.isDirectory()) continue
    for (const tree of readdirSync(join(root, area.name), { withFileTypes: true }))
      if (tree.isDirectory()) makeWritable(join(root, area.name, tree.name))
  }
}

function makeWritable(path: string): void {
  const isSubvolume = statSync(path).ino === 256
  if (isSubvolume) withSubvolume(path, (fd) => btrfs.setReadOnly(fd, false))
}
