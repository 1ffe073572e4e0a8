import * as fs from 'node:fs'
import { native } from '../syscalls/native.ts'
import type { Coroutine } from '../safe-fs/coroutine.ts'
import { ctimeMs, sizeIn, type StatFingerprint } from './stat.ts'

/**
 * When it can be told from a print alone that a file has not changed.
 *
 * The time of the last change of anything (ctime) cannot be set by any program. But two changes in one tick of the
 * kernel's clock have the same; and a write through a mapped page that is dirty already has none: so what is dirty has to
 * be written out before a file is read, and only what was last changed clearly before that is trusted.
 */

/** How much older than a flush a change must be to be surely told from a later one: the kernel's clock ticks slowly. */
const tickMs = 20

/** @param flushedAt when it began, before anything dirty was written out. In milliseconds. */
export const isOlderThanFlush = (print: StatFingerprint, flushedAt: number): boolean =>
  ctimeMs(print) < flushedAt - tickMs

const tmpfs = 0x01021994
/** ext4, XFS, btrfs and F2FS: the pages that a file shows are those that are mapped. On an overlay they are not. */
const plain = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010])
/** overlay, ZFS and bcachefs. */
const others = new Set([0x794c7630, 0x2fc12fc1, 0xca451a4e])

/** Whether single files can be written out there; else all has to be flushed. */
export const canWriteOut = (path: string): boolean => native() !== undefined && plain.has(fs.statfsSync(path).type)

/** In a file system that never writes anything out, a write through a mapped page leaves no trace at all. */
export const tracksMappedWrites = (path: string): boolean => fs.statfsSync(path).type !== tmpfs

/** One that is known to keep such times itself, and finely: neither a server's, nor a stick's, which has whole seconds. */
export function hasFineTimestamps(path: string): boolean {
  const { type } = fs.statfsSync(path)
  return plain.has(type) || others.has(type)
}

/** What was written to last in this time may still be dirty: the kernel writes out by itself what is older. */
const recentMs = 60_000
/** So many are written out one by one; a flush of everything waits for the writes of others too. */
const maxAlone = 64

/** Has to be called before a file is read, when it is known what it is. */
export type FlushBeforeRead = (fd: number, print: StatFingerprint, pause: () => Promise<void>) => Promise<void>

/**
 * Sees to it that later writes to a file show, for file after file below a directory that can write out. Most files of a folder are clean,
 * and to ask for it costs nothing; where many were written just now, one flush costs less than one for each.
 */
export function flushBeforeRead(top: string): FlushBeforeRead {
  let alone = 0
  let flushedAt: number | undefined
  return async (fd, print, pause) => {
    if (flushedAt !== undefined && isOlderThanFlush(print, flushedAt)) return
    const now = Date.now()
    if (ctimeMs(print) > now - recentMs) alone += 1
    if (flushedAt === undefined && alone > maxAlone) {
      await flushAll(top)
      flushedAt = now
      if (isOlderThanFlush(print, now)) return
    }
    for (const _ of writeOut(fd, sizeIn(print))) await pause()
  }
}

/** The file system that it is on, with what others have written there. */
export async function flushAll(path: string): Promise<void> {
  const fd = fs.openSync(path, 'r')
  try {
    await native()?.syncfsLater(fd)
  } finally {
    fs.closeSync(fd)
  }
}

const rangeBytes = 8 * 1024 * 1024
/** A file may say that it has exabytes, and hold nothing. */
const maxRanges = 1024

/** From now on a write through a mapped page shows in the ctime: no page is dirty that could be written to silently. */
export function* writeOut(fd: number, size: number): Coroutine<void> {
  const length = Math.max(rangeBytes, Math.ceil(size / maxRanges / rangeBytes) * rangeBytes)
  for (let start = 0; start < size; start += length) {
    // The last one: up to the end, wherever that is.
    native()?.syncFileRange(fd, start, start + length < size ? length : 0)
    if (start > 0) yield
  }
}
