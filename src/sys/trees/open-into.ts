import * as fs from 'node:fs'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from '../fs/host-fs.ts'
import { chownLike } from '../copy/chown-like.ts'
import { at, directoryFlags } from '../safe-fs/descriptors.ts'

/**
 * A directory below the top of a tree, made with those above it if it is missing, and open until it is disposed of: the
 * path leads there whatever is swapped meanwhile. Reached name by name; a link on the way is an error.
 */
export function openInto(tree: string, into: string): Disposable & { readonly path: string } {
  let fd = fs.openSync(tree, directoryFlags)
  try {
    for (const name of into.split('/').filter((one) => one !== '.' && one !== '')) {
      const isNew = makeDirectory(at(fd, name))
      const next = fs.openSync(at(fd, name), directoryFlags)
      if (isNew) chownLike(at(fd, '.'), at(next, '.'))
      fs.closeSync(fd)
      fd = next
    }
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
  return { path: at(fd, '.'), [Symbol.dispose]: () => fs.closeSync(fd) }
}

function makeDirectory(path: string): boolean {
  try {
    hostFs.mkdirSync(path, 0o755)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}
