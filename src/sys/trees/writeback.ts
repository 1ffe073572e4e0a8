import * as fs from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileSystemOf } from '../fs/file-system.ts'
import { native } from '../syscalls/native.ts'

/** So long others fill the tree before something is worth writing out. */
const everyMs = 100

/**
 * Does work that fills a tree which is made durable in the end. What is there already is written out meanwhile, so that
 * there is less to wait for afterwards. That it could not be is a failure: whoever looks later is not told of it again.
 */
export async function withWriteback<T>(tree: string, work: () => Promise<T>): Promise<T> {
  // Each flush writes the trees of btrfs anew from the top: 10,000 files then take a fifth longer, not less.
  if (fileSystemOf(tree) === 'btrfs') return work()
  const ended = new AbortController()
  const flushing = flush(tree, ended.signal)
  // Who waits for it is told; until then nobody may be waiting.
  flushing.catch(() => undefined)
  try {
    const answer = await work()
    ended.abort()
    await flushing
    return answer
  } finally {
    // After a failure of the work, which is the one to tell.
    ended.abort()
    await flushing.catch(() => undefined)
  }
}

async function flush(tree: string, ended: AbortSignal): Promise<void> {
  const fd = fs.openSync(tree, 'r')
  try {
    for (;;) {
      await sleep(everyMs, undefined, { signal: ended }).catch(() => undefined)
      if (ended.aborted) return
      await native()?.syncfsLater(fd)
    }
  } finally {
    fs.closeSync(fd)
  }
}
