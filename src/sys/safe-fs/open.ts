import * as fs from 'node:fs'
import type { ParsedPath } from '../../domain/paths.ts'
import { type Native, native, RESOLVE } from '../syscalls/native.ts'
import { at, O_PATH, readFlags } from './descriptors.ts'
import { refusal, translate } from './errors.ts'
import type { Root } from './root.ts'
import { withResolvedEntry } from './walk.ts'

type Wanted = 'directory' | 'anything'

const flagsFor: Readonly<Record<Wanted, number>> = {
  directory: readFlags | fs.constants.O_DIRECTORY,
  anything: O_PATH,
}

const beneath = RESOLVE.BENEATH | RESOLVE.NO_MAGICLINKS | RESOLVE.NO_XDEV

/**
 * Opens what a path leads to, links inside the root followed: a directory for reading, anything to be named only. The
 * caller closes it.
 */
export function openBelow(root: Root, parsed: ParsedPath, wanted: Wanted): number {
  return (
    byKernel(root, parsed, (calls, path) => calls.openat2(root.fd, path, flagsFor[wanted], beneath)) ??
    byWalk(root, parsed, flagsFor[wanted], (stats, path) => {
      if (wanted === 'directory' && !stats.isDirectory()) throw refusal('not_a_directory', path)
    }).fd
  )
}

interface OpenFile {
  readonly fd: number
  readonly stats: fs.Stats
}

/** Opens a regular file for reading; the caller closes it. Nothing else is opened: a pipe or a device would notice. */
export function openFileBelow(root: Root, parsed: ParsedPath): OpenFile {
  return (
    byKernel(root, parsed, (calls, path) => openIfFile(calls, calls.openat2(root.fd, path, O_PATH, beneath))) ??
    byWalk(root, parsed, readFlags, (stats, path) => {
      if (!stats.isFile()) throw refusal('not_a_file', path)
    })
  )
}

/** Kept open: the way over `/proc` is not walked for each file. */
let descriptors: number | undefined

/** Closes what it was given. */
function openIfFile(calls: Native, named: number): OpenFile | undefined {
  try {
    const stats = fs.fstatSync(named)
    if (!stats.isFile()) return undefined
    descriptors ??= fs.openSync('/proc/self/fd', O_PATH | fs.constants.O_DIRECTORY)
    return { fd: calls.openat2(descriptors, String(named), readFlags, 0), stats }
  } finally {
    fs.closeSync(named)
  }
}

/**
 * By openat2. Undefined for whatever it does not like: the walk then says what is wrong, so both resolvers give the same
 * verdict, or finds that all is well (a link with an absolute target inside the root, say).
 */
function byKernel<T>(root: Root, parsed: ParsedPath, open: (calls: Native, path: string) => T): T | undefined {
  const calls = root.resolver === 'openat2' ? native() : undefined
  if (!calls || parsed.names.length === 0 || parsed.directory) return undefined
  try {
    return open(calls, parsed.names.join('/'))
  } catch {
    return undefined
  }
}

/** The object is named first and opened only when it is known to be of the right kind. */
function byWalk(
  root: Root,
  parsed: ParsedPath,
  flags: number,
  check: (stats: fs.Stats, path: string) => void,
): OpenFile {
  const path = parsed.names.join('/')
  return withResolvedEntry(root, parsed, { follow: true }, (entry) => {
    const { stats } = entry
    if (!stats) throw refusal('file_not_found', path)
    check(stats, path)
    try {
      return { fd: fs.openSync(at(entry.fd ?? root.fd), flags), stats }
    } catch (error) {
      throw translate(error, path)
    }
  })
}
