import * as fs from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AwError } from '../../../../domain/errors.ts'
import type { Place } from '../../../../ports/storage-driver.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { native, RANGE_LOCK } from '../../../../sys/syscalls/native.ts'

/**
 * The lock of each tree for who mounts it, unmounts it or changes what it is made of. A look at a tree that is not mounted
 * mounts it; without the lock that could be what the tree was made of before, while another process freezes its upper
 * layer: then two overlays lie one over the other, and what is written goes into the snapshot. The kernel does not help:
 * a layer that is below another overlay may be the upper of one.
 *
 * One file has the locks of all, each a byte of it that follows from the name. Two with the same byte only wait for each
 * other. Taken before the lock of the records; several at once, and never one more while one is held.
 */
export async function lockMounts(root: string, places: readonly Place[]): Promise<Disposable> {
  const { O_RDWR, O_CREAT, O_NOFOLLOW } = fs.constants
  const fd = fs.openSync(join(root, 'records', lockName), O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
  try {
    // In the same order for everybody.
    const bytes = [...new Set(places.map(byteOf))].toSorted((a, b) => a - b)
    for (const byte of bytes) await take(fd, byte, places)
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
  return {
    [Symbol.dispose]() {
      // A child that was just begotten has the descriptor too, until it becomes another program.
      native()?.lockRange(fd, RANGE_LOCK.NONE, 0, 0)
      fs.closeSync(fd)
    },
  }
}

/** No record: those have no dot in front. */
const lockName = '.mounts'

/** Unmounting waits for the disk, and that may take long. */
const timeoutMs = 60_000

async function take(fd: number, byte: number, places: readonly Place[]): Promise<void> {
  const until = Date.now() + timeoutMs
  for (let pause = 0.5; ; pause = Math.min(pause * 1.5, 10)) {
    try {
      native()?.lockRange(fd, RANGE_LOCK.EXCLUSIVE, byte, 1)
      return
    } catch (error) {
      if (!hasCode(error, 'EAGAIN', 'EWOULDBLOCK', 'EACCES')) throw error
      if (Date.now() > until) throw busy(places)
    }
    await sleep(pause * (0.5 + Math.random()))
  }
}

const byteOf = (place: Place): number => lockKey(place, 52)

/** By FNV-1a, twice: at most 52 bits. */
export function lockKey({ area, name }: Place, bits: number): number {
  let [high, low] = [0x811c9dc5, 0x9747b28c]
  for (const byte of Buffer.from(`${area}.${name}`)) {
    high = Math.imul(high ^ byte, 0x01000193)
    low = Math.imul(low ^ byte, 0x01000193)
  }
  return ((high >>> 0) * 2 ** 20 + (low >>> 12)) % 2 ** bits
}

const busy = ([place]: readonly Place[]): AwError =>
  new AwError('workspace_busy', `Another process mounts or unmounts the tree ${place?.area}/${place?.name}`, {
    hint: 'Try again when it is done',
    data: { place },
  })
