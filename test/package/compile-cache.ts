import { chownSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Not in a directory where others could put theirs: what is in it is run. */
const own = fileURLToPath(new URL('../../node_modules/.cache/aw-compile', import.meta.url))

/**
 * For NODE_COMPILE_CACHE: where the processes that tests start keep compiled code, each user for itself. One that runs
 * the source starts in less than half the time by it.
 */
export function compileCache(uid = process.getuid?.()): string {
  if (uid === process.getuid?.()) return own
  const cache = `${own}-${uid}`
  mkdirSync(cache, { recursive: true })
  chownSync(cache, uid ?? 0, uid ?? 0)
  return cache
}
