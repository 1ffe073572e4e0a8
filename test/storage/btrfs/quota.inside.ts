import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Place } from '../../../src/ports/storage-driver.ts'
import { enableQuota } from '../../../src/drivers/storage/btrfs/kernel/device.ts'
import { fileSystemId } from '../../../src/drivers/storage/btrfs/kernel/ioctls.ts'
import { withSubvolume } from '../../../src/drivers/storage/btrfs/kernel/subvolume.ts'
import { code } from '../../contracts/storage.ts'
import { openBtrfs, snap, volume } from './fixture.ts'

const MB = 2 ** 20
const EDQUOT = -122
const fork: Place = { area: 'volumes', name: 'ws_2' }

/** What the kernel says to so many bytes more. It counts when it commits, and may let a little too much pass before. */
function write(tree: string, name: string, bytes: number): number {
  execFileSync('sync', ['-f', tree])
  try {
    const fd = fs.openSync(join(tree, name), 'w')
    try {
      fs.writeFileSync(fd, Buffer.alloc(bytes, name))
      fs.fsyncSync(fd)
      return 0
    } finally {
      fs.closeSync(fd)
    }
  } catch (error) {
    return (error as NodeJS.ErrnoException).errno ?? 1
  }
}

it('cannot limit where the file system does not count', async () => {
  const { storage } = openBtrfs()
  expect(storage.capabilities.quota).toBe('none')
  await expect(storage.create(volume, { maxBytes: MB })).rejects.toEqual(code('unsupported'))
  expect(await storage.list()).toEqual([])
})

it('holds a tree to what it may have beyond its parent, also after a restore', async () => {
  const { storage, root, path } = openBtrfs()
  enableQuota(root)
  expect(storage.capabilities.quota).toBe('kernel')
  await storage.create(volume, { maxBytes: 8 * MB })
  expect(write(path(volume), 'fits', 4 * MB)).toBe(0)
  expect(write(path(volume), 'too much', 6 * MB)).toBe(EDQUOT)
  fs.rmSync(join(path(volume), 'too much'))
  await storage.snapshot(volume, snap(1))
  await storage.create(fork, { from: snap(1), maxBytes: 2 * MB })
  expect(write(path(fork), 'fits', 1 * MB)).toBe(0)
  expect(write(path(fork), 'too much', 2 * MB)).toBe(EDQUOT)
  await storage.restore(volume, snap(1), snap(2))
  expect(write(path(volume), 'still fits', 6 * MB)).toBe(0)
  expect(write(path(volume), 'still too much', 4 * MB)).toBe(EDQUOT)
  await storage.erase(fork)
  expect(await storage.list()).toEqual([volume, snap(1), snap(2)])
})

it('tells the room that is left, and holds a tree that was filled to what it may have beyond that', async () => {
  const { storage, root, path } = openBtrfs()
  enableQuota(root)
  await storage.create(volume)
  expect(write(path(volume), 'content', 16 * MB)).toBe(0)
  expect(await storage.room(volume)).toBeNull()
  await storage.sync(volume)
  await storage.limit(volume, 4 * MB)
  expect(await storage.room(volume)).toBe(4 * MB)
  expect(write(path(volume), 'fits', 3 * MB)).toBe(0)
  execFileSync('sync', ['-f', root])
  expect(await storage.room(volume)).toBeLessThanOrEqual(1 * MB)
  expect(await storage.room(volume)).toBeGreaterThan(0)
  expect(write(path(volume), 'too much', 2 * MB)).toBe(EDQUOT)
  fs.rmSync(join(path(volume), 'too much'))
  await storage.snapshot(volume, snap(1))
  await storage.restore(volume, snap(1), snap(2), { maxBytes: 4 * MB })
  expect(await storage.room(volume)).toBe(4 * MB)
  expect(write(path(volume), 'too much', 6 * MB)).toBe(EDQUOT)
  // What is over the limit can always be removed, and gives room.
  fs.rmSync(join(path(volume), 'too much'))
  expect(write(path(volume), 'fits again', 3 * MB)).toBe(0)
})

it('gives a tree at its limit a larger one, a smaller one than it has, and none', async () => {
  const { storage, root, path } = openBtrfs()
  enableQuota(root)
  await storage.create(volume, { maxBytes: 4 * MB })
  expect(write(path(volume), 'fits', 3 * MB)).toBe(0)
  execFileSync('sync', ['-f', root])
  await storage.limit(volume, -MB)
  expect(await storage.room(volume)).toBe(-MB)
  expect(write(path(volume), 'too much', MB)).toBe(EDQUOT)
  fs.rmSync(join(path(volume), 'too much'), { force: true })
  await storage.limit(volume, 8 * MB)
  expect(await storage.room(volume)).toBe(8 * MB)
  expect(write(path(volume), 'fits too', 7 * MB)).toBe(0)
  await storage.limit(volume, null)
  expect(await storage.room(volume)).toBeNull()
  expect(write(path(volume), 'large', 30 * MB)).toBe(0)
})

it('a restore of a quiet tree costs two commits, also where it has a limit to pass on', async () => {
  const counts: number[] = []
  // The kernel commits now and then by itself.
  for (let attempt = 0; attempt < 5 && !counts.includes(2); attempt++) {
    const { storage, root, path } = openBtrfs()
    enableQuota(root)
    await storage.create(volume, { maxBytes: 8 * MB })
    await storage.snapshot(volume, snap(1))
    fs.writeFileSync(join(path(volume), 'file'), 'changed')
    execFileSync('btrfs', ['subvolume', 'sync', root])
    execFileSync('sync', ['-f', root])
    const before = commitsOf(root)
    await storage.restore(volume, snap(1), snap(2))
    counts.push(commitsOf(root) - before)
  }
  expect(Math.min(...counts)).toBe(2)
})

function commitsOf(root: string): number {
  const id = withSubvolume(root, fileSystemId)
  return Number(/commits (\d+)/.exec(fs.readFileSync(`/sys/fs/btrfs/${id}/commit_stats`, 'utf8'))?.[1])
}
