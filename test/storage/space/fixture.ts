import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openManager } from '../../../src/aw.ts'
import { makeAw, type Aw } from '../../../src/client/facade.ts'
import { errnoName } from '../../../src/domain/errno.ts'
import { toAwError } from '../../../src/domain/errors.ts'
import { enableQuota } from '../../../src/drivers/storage/btrfs/kernel/device.ts'
import { fileSystemOf } from '../../../src/sys/fs/file-system.ts'

export const MB = 2 ** 20

export interface SpaceHome extends AsyncDisposable {
  readonly aw: Aw
  readonly home: string
  readonly grade: 'kernel' | 'watched'
  readonly path: (name: string, file?: string) => string
}

/** A home on the file system of the test; on btrfs with quotas, which root switches on. Nothing is removed: it all goes. */
export async function openHome(set: Record<string, string> = {}): Promise<SpaceHome> {
  const home = fs.mkdtempSync(join(tmpdir(), 'aw-space-'))
  const counts = fileSystemOf(home) === 'btrfs' && process.getuid?.() === 0
  if (counts) enableQuota(home)
  const manager = await openManager({ home, env: {}, set: { 'space.min_free_mb': '0', ...set } })
  return {
    aw: makeAw(manager),
    home,
    grade: counts ? 'kernel' : 'watched',
    path: (name, file = '') => join(home, 'workspaces', name, 'main', 'work', file),
    [Symbol.asyncDispose]: () => manager[Symbol.asyncDispose](),
  }
}

/** As an agent does, past aw: what the kernel says to it. */
export function write(path: string, bytes: number): string {
  try {
    const fd = fs.openSync(path, 'w')
    try {
      fs.writeFileSync(fd, Buffer.alloc(bytes, path))
      fs.fsyncSync(fd)
      return 'ok'
    } finally {
      fs.closeSync(fd)
    }
  } catch (error) {
    return errnoName(error)
  }
}

/** The code of the error that something ends with. */
export const outcome = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'ok',
    (error: unknown) => toAwError(error).code,
  )

/** Waits for what happens by itself, half a minute at the most. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let left = 300; !(await isSo()); left--) {
    if (left === 0) throw new Error('It has not come to be so')
    await sleep(100)
  }
}
