import * as fs from 'node:fs'
import type { Verified } from '../../../../ports/storage-driver.ts'
import { calls } from './ioctls.ts'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { native } from '../../../../sys/syscalls/native.ts'
import { directoryFlags } from '../../../../sys/safe-fs/descriptors.ts'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { runCancellable } from '../../../../sys/trees/run-cancellable.ts'
import { nextData } from '../../../../sys/trees/same-bytes.ts'
import { decodeStat } from '../../../../sys/trees/stat.ts'
import { openIfUnchanged } from '../../../../sys/trees/unlock.ts'
import { walkTree } from '../../../../sys/trees/walk.ts'

/** What can be learned from all the files of a tree, each opened once. */

/** Reads everything: btrfs compares each block with its checksum, and refuses one that does not match. */
export function readAllFiles(path: string, signal?: AbortSignal): Promise<Verified> {
  return withTree(path, signal, function* (top) {
    const problems: Verified['problems'][number][] = []
    let [files, bytes] = [0, 0]
    for (const { path, fd } of filesIn(top)) {
      files += 1
      try {
        bytes += yield* readSteps(fd)
      } catch (error) {
        if (!hasCode(error, 'EIO')) throw error
        problems.push({ path, message: 'A block of it does not match its checksum, or the disk cannot read it' })
      }
    }
    return { method: 'checksums', files, bytes, problems }
  })
}

/**
 * The bytes of files that no other file shares: erasing the tree gives them back. What is so small that btrfs keeps it
 * among its own data, and that data itself, is not counted. Null if a file may not be looked at.
 */
export async function ownBytes(path: string, maxFiles = Infinity): Promise<number | null> {
  try {
    return await withTree(path, undefined, function* (top) {
      let [own, files] = [0, 0]
      for (const { fd } of filesIn(top)) {
        own += ownBytesOf(fd)
        files += 1
        yield
        if (files >= maxFiles) break
      }
      return own
    })
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EROFS')) return null
    throw error
  }
}

async function withTree<T>(
  path: string,
  signal: AbortSignal | undefined,
  work: (top: number) => Coroutine<T>,
): Promise<T> {
  const top = fs.openSync(path, directoryFlags)
  try {
    return await runCancellable(work(top), signal)
  } finally {
    fs.closeSync(top)
  }
}

/** Each regular file once, whatever names it has; closed when the next one is asked for. */
function* filesIn(top: number): Generator<{ path: string; fd: number }> {
  const seen = new Set<string>()
  for (const { path, name, directory, print } of walkTree(top)) {
    const { kind, links, identity } = decodeStat(print)
    if (kind !== 'file' || seen.has(identity)) continue
    if (links > 1) seen.add(identity)
    const fd = openIfUnchanged(directory, name, print)
    if (fd === undefined) continue
    try {
      yield { path, fd }
    } finally {
      fs.closeSync(fd)
    }
  }
}

let block: Buffer | undefined

/** A hole has no block that could be damaged, and may be as large as it likes: it is not read, where it can be told. */
function* readSteps(fd: number): Coroutine<number> {
  block ??= Buffer.allocUnsafeSlow(1024 * 1024)
  const { size } = fs.fstatSync(fd)
  const calls = size > block.length ? native() : undefined
  let bytes = 0
  for (let done = 0; ;) {
    if (calls) done = nextData(calls, fd, done)
    if (done > size) return bytes
    const got = fs.readSync(fd, block, 0, block.length, done)
    done += got
    bytes += got
    yield
    if (got === 0) return bytes
  }
}

const FIEMAP = 0xc020660b
const SYNC_FIRST = 1
const EXTENT = { LAST: 1, UNKNOWN: 2, INLINE: 0x200, SHARED: 0x2000 } as const
const head = 32
const extentSize = 56
const perCall = 128

function ownBytesOf(fd: number): number {
  let own = 0
  for (let start: bigint | undefined = 0n; start !== undefined;) {
    const map = Buffer.alloc(head + perCall * extentSize)
    map.writeBigUInt64LE(start, 0)
    map.writeBigUInt64LE(0xffff_ffff_ffff_ffffn - start, 8)
    map.writeUInt32LE(SYNC_FIRST, 16)
    map.writeUInt32LE(perCall, 24)
    calls().ioctl(fd, FIEMAP, map)
    start = undefined
    const count = map.readUInt32LE(20)
    for (let i = 0; i < count; i++) {
      const at = head + i * extentSize
      const flags = map.readUInt32LE(at + 40)
      const length = map.readBigUInt64LE(at + 16)
      if ((flags & (EXTENT.SHARED | EXTENT.INLINE | EXTENT.UNKNOWN)) === 0) own += Number(length)
      start = (flags & EXTENT.LAST) === 0 ? map.readBigUInt64LE(at) + length : undefined
    }
  }
  return own
}
