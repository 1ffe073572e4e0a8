import * as fs from 'node:fs'
import type { ParsedPath } from '../../domain/paths.ts'
import { native, RESOLVE } from '../native.ts'
import { at, O_PATH, readFlags } from './descriptors.ts'
import { refusal, translate } from './errors.ts'
import type { Root } from './root.ts'
import { withSpot } from './walk.ts'

export type Wanted = 'file' | 'directory' | 'anything'

const flagsFor: Readonly<Record<Wanted, number>> = {
  file: readFlags,
  directory: readFlags | fs.constants.O_DIRECTORY,
  anything: O_PATH,
}

const beneath = RESOLVE.BENEATH | RESOLVE.NO_MAGICLINKS | RESOLVE.NO_XDEV

/**
 * Opens what a path leads to, links inside the root followed: a file or directory for reading, anything to be named
 * only. The caller closes it.
 */
export function openBelow(root: Root, parsed: ParsedPath, wanted: Wanted): number {
  const fd = root.resolver === 'openat2' ? openByKernel(root, parsed, wanted) : undefined
  return fd ?? openByWalk(root, parsed, wanted)
}

/**
 * One call of openat2. Undefined for whatever it does not like: the walk then says what is wrong, so both resolvers
 * give the same verdict, or finds that all is well (a link with an absolute target inside the root, say).
 */
function openByKernel(root: Root, parsed: ParsedPath, wanted: Wanted): number | undefined {
  const calls = native()
  if (!calls || parsed.names.length === 0 || parsed.directory) return undefined
  try {
    return calls.openat2(root.fd, parsed.names.join('/'), flagsFor[wanted], beneath)
  } catch {
    return undefined
  }
}

/** The object is named first and opened only when it is known to be of the right kind. */
function openByWalk(root: Root, parsed: ParsedPath, wanted: Wanted): number {
  const path = parsed.names.join('/')
  return withSpot(root, parsed, { follow: true }, (spot) => {
    const isRoot = spot.name === '' && spot.fd !== undefined
    if (!spot.stats) throw refusal('file_not_found', path)
    if (wanted === 'file' && !spot.stats.isFile()) throw refusal('not_a_file', path)
    if (wanted === 'directory' && !spot.stats.isDirectory()) throw refusal('not_a_directory', path)
    try {
      return fs.openSync(at(isRoot ? root.fd : (spot.fd ?? root.fd)), flagsFor[wanted])
    } catch (error) {
      throw translate(error, path)
    }
  })
}
