import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { fileSystemOf } from '../../../sys/fs/file-system.ts'
import { btrfsStorage } from './driver.ts'

/** What it does on a btrfs is tested where one can be mounted: test/storage/btrfs/btrfs.test.ts and test/storage. */
const elsewhere = ['/dev/shm', tmpdir()].find((path) => fileSystemOf(path) !== 'btrfs') ?? tmpdir()

it('says what the file system is where it cannot work, and what to do', async () => {
  const base = mkdtempSync(join(elsewhere, 'aw-no-btrfs-'))
  onTestFinished(() => rmSync(base, { recursive: true }))
  await using storage = btrfsStorage({ root: join(base, 'storage'), claim: join(base, 'storage.id') })
  expect(await storage.probe()).toEqual({
    usable: false,
    reasons: [expect.stringContaining(`is on ${fileSystemOf(base)}, not on btrfs`)],
    hint: expect.stringContaining('aw init --storage btrfs') as unknown,
  })
  expect(storage.capabilities).toMatchObject({ snapshot: 'constant', restore: 'exchange', quota: 'none' })
  expect(await storage.list()).toEqual([])
})
