import * as fs from 'node:fs'
import { gitFileTarget, resolveInside } from '../../domain/git/link.ts'
import type { State } from './state.ts'
import { hasCode } from '../syscalls/errno.ts'
import { readNamed } from './read-named.ts'
import { at, type Name, namingFlags } from '../safe-fs/descriptors.ts'
import { openFrom } from '../safe-fs/directory-stack.ts'
import { nodeName } from '../trees/names.ts'

/** Git takes no longer one for a file that names a repository. */
const maxBytes = 1024 * 1024

/** Whether this is a `.git` where we are that leads out of a user's folder; see `SkipReason`. */
export function isForeignGit({ options, source, from, frames }: State, name: string): boolean {
  // One that was asked for by itself is what is wanted.
  if (name !== '.git' || options.ofUser !== true || frames.length === 0) return false
  const path = leadsTo(from.top())
  if (path === undefined) return false
  const names = resolveInside(from.names.map(bytesOf), path)
  return names === undefined || isThroughLink(source, names.map(nodeName))
}

const bytesOf = (name: Name): string => Buffer.from(name as string).toString('latin1')

/** What the `.git` of a directory names; undefined if it is one itself, or cannot be read, which its copy will tell. */
function leadsTo(directory: number): string | undefined {
  try {
    const named = fs.openSync(at(directory, '.git'), namingFlags)
    try {
      const stat = fs.fstatSync(named)
      if (stat.isSymbolicLink()) return fs.readlinkSync(at(directory, '.git'), 'latin1')
      return stat.isFile() && stat.size <= maxBytes ? gitFileTarget(readNamed(named, maxBytes)) : undefined
    } finally {
      fs.closeSync(named)
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'EACCES', 'EPERM', 'EINVAL')) return undefined
    throw error
  }
}

/** A link on the way, or in the place of the directory. What is missing leads nowhere in a copy either. */
function isThroughLink(top: number, names: readonly Name[]): boolean {
  try {
    const fd = openFrom(top, names)
    if (fd !== top) fs.closeSync(fd)
    return false
  } catch (error) {
    return hasCode(error, 'ELOOP', 'ENOTDIR')
  }
}
