import * as fs from 'node:fs'
import { refusal } from '../safe-fs/errors.ts'
import { directoryFlags, type Name } from '../safe-fs/descriptors.ts'
import { openFrom } from '../safe-fs/directory-stack.ts'
import { hasCode } from '../syscalls/errno.ts'
import { nodeName } from './names.ts'
import { kindOf, statEntry } from './stat.ts'

/** An open directory; `only`: one name in it is meant, and not the directory. The caller closes it. */
interface Subpath {
  readonly fd: number
  readonly only?: Name | undefined
}

/** What a path below a tree leads to, reached name by name without following a link; `.` is the tree itself. */
export function openSubpath(tree: string, path: string): Subpath {
  const top = fs.openSync(tree, directoryFlags)
  if (path === '.') return { fd: top }
  const names = path.split('/')
  const last = names.at(-1) ?? ''
  try {
    if (names.some((name) => name === '' || name === '.' || name === '..')) throw refusal('file_not_found', path)
    const holder = openFrom(top, names.slice(0, -1).map(nodeName))
    const seen = statEntry(holder, last)
    if (seen === undefined) throw refusal('file_not_found', path)
    if (kindOf(seen.print) !== 'directory')
      return { fd: holder === top ? reopened(tree) : holder, only: nodeName(last) }
    const fd = openFrom(holder, [nodeName(last)])
    if (holder !== top) fs.closeSync(holder)
    return { fd }
  } catch (error) {
    throw hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP') ? refusal('file_not_found', path, { cause: error }) : error
  } finally {
    fs.closeSync(top)
  }
}

const reopened = (tree: string): number => fs.openSync(tree, directoryFlags)
