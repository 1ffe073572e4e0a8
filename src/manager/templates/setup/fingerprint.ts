import { toAwError } from '../../../domain/errors.ts'
import { hashing } from '../../../domain/sources/template-setup.ts'
import type { FileHandle } from '../../../ports/files.ts'
import type { Request } from '../../core.ts'
import { checkpointSignal } from '../../kernel/operations.ts'

/** What a tree holds: of each path the kind, the mode, and the hash of what is there. */
export interface Fingerprint {
  readonly entries: ReadonlyMap<string, string>
  /** False if something could not be looked at, as a name that is no text. */
  readonly complete: boolean
}

/** Reads a tree whole. Nobody else may work in it. */
export async function fingerprintOf(tree: FileHandle, request: Request): Promise<Fingerprint> {
  const entries = new Map<string, string>()
  const listed = tree.tree('.', everything)
  let complete = !listed.truncated && listed.unreadable.length === 0
  for (const { path } of listed.entries) {
    const mark = await markOf(tree, path, request)
    if (mark === undefined) complete = false
    else entries.set(path, mark)
  }
  return { entries, complete }
}

/**
 * What came to a tree since, of a new directory the directory alone, with a slash; null if anything else about it has
 * changed, if it is too much to tell, or if it cannot be told.
 */
export async function addedSince(tree: FileHandle, before: Fingerprint, request: Request): Promise<string[] | null> {
  const { entries, truncated } = tree.tree('.', everything)
  if (!before.complete || truncated) return null
  const added: string[] = []
  let seen = 0
  for (const { path, kind } of entries) {
    const was = before.entries.get(path)
    if (was !== undefined) {
      seen += 1
      if ((await markOf(tree, path, request)) !== was) return null
    } else if (isKnown(before, path.slice(0, Math.max(0, path.lastIndexOf('/'))))) {
      if (added.length === maxAdded || (await markOf(tree, path, request)) === undefined) return null
      added.push(kind === 'directory' ? `${path}/` : path)
    }
  }
  return seen === before.entries.size ? added : null
}

const everything = { maxEntries: Number.MAX_SAFE_INTEGER }
const maxAdded = 1000
const pieceBytes = 4 * 1024 * 1024

const isKnown = ({ entries }: Fingerprint, directory: string): boolean => directory === '' || entries.has(directory)

/** Undefined if it cannot be looked at. */
async function markOf(tree: FileHandle, path: string, request: Request): Promise<string | undefined> {
  try {
    const { kind, mode, size, target } = tree.stat(path, { follow: false })
    if (kind === 'symlink') return `symlink ${target ?? ''}`
    if (kind !== 'file') return `${kind} ${mode}`
    const hash = hashing()
    for (let offset = 0; offset < size; offset += pieceBytes) {
      hash.update(tree.read(path, { offset, length: pieceBytes, maxBytes: Number.MAX_SAFE_INTEGER }))
      // Others have their turn, and whoever waits may change their mind.
      await new Promise((resolve) => setImmediate(resolve))
      checkpointSignal(request)
    }
    return `file ${mode} ${hash.digest('hex')}`
  } catch (error) {
    if (!unseen.has(toAwError(error).code)) throw error
    return undefined
  }
}

const unseen: ReadonlySet<string> = new Set(['file_not_found', 'permission_denied', 'path_outside_workspace'])
