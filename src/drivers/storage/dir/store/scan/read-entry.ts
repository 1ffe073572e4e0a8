import { hash as hashOf } from 'node:crypto'
import * as fs from 'node:fs'
import { AwError } from '../../../../../domain/errors.ts'
import type { Coroutine } from '../../../../../sys/safe-fs/coroutine.ts'
import { hasCode } from '../../../../../sys/syscalls/errno.ts'
import { readFlags } from '../../../../../sys/safe-fs/descriptors.ts'
import { attributesText } from '../../../../../sys/trees/attributes.ts'
import { linkTarget } from '../../../../../sys/trees/link-target.ts'
import { hashSteps } from '../../../../../sys/trees/content-hash.ts'
import { atBytes } from '../../../../../sys/trees/names.ts'
import { decodeStat, statEntry, type StatFingerprint } from '../../../../../sys/trees/stat.ts'
import { openIfUnchanged } from '../../../../../sys/trees/unlock.ts'
import type { Visit } from '../../../../../sys/trees/walk.ts'
import { writeOut } from '../../../../../sys/trees/write-out.ts'
import { formatEntry } from '../entry.ts'
import type { KnownEntry } from './stat-index.ts'

export interface ReadOptions {
  /** Each file that is read has to be written out before: not all of them were. */
  readonly writeOut: boolean
  /** Nobody else can write to it meanwhile: nothing has to be looked at twice. */
  readonly still?: boolean | undefined
  /** What to do with the content of a file that is not known. Answers its name. */
  readonly read: (fd: number) => Coroutine<{ content: string; bytes: number }>
  readonly onRead?: ((bytes: number) => void) | undefined
}

/** For a look at what is not kept. */
export function* hashContent(fd: number): ReturnType<ReadOptions['read']> {
  const got = fs.readSync(fd, small, 0, small.length, 0)
  // Most files end here, at a fraction of the cost.
  if (got < small.length) return { content: got === 0 ? '' : hashOf('sha256', small.subarray(0, got)), bytes: got }
  const { hash, bytes } = yield* hashSteps(fd)
  return { content: bytes === 0 ? '' : hash, bytes }
}

/** One block: what is shorter has no block of zeros in it. */
const small = Buffer.allocUnsafeSlow(64 * 1024)

/** Undefined if it is gone, or became something else: the next pass looks again. */
export function* readEntry(visit: Visit, options: ReadOptions): Coroutine<KnownEntry | undefined> {
  const { path, name, directory } = visit
  const found = yield* contentOf(visit, options)
  if (found === undefined) return undefined
  const { kind, mode, uid, gid, mtimeNs, inode, links } = decodeStat(found.print)
  const attributes = attributesText(atBytes(directory, name === '' ? '.' : name), 'anywhere')
  const { content, size } = found
  const shown = { links: kind === 'directory' ? 1 : links, size }
  const line = formatEntry({ path, kind, mode, uid, gid, mtimeNs, inode, ...shown, content, attributes })
  if (found.torn) return { line, print: '' }
  // To read attributes of what its owner may not read, its mode is changed as well.
  const isTouched = attributes !== '' && (mode & 0o400) === 0
  return { line, print: isTouched ? (statEntry(directory, name)?.print ?? '') : found.print }
}

interface Content {
  readonly content: string
  readonly size: number
  readonly print: StatFingerprint
  /** It was written to while it was read. */
  readonly torn?: boolean
}

function* contentOf({ path, name, directory, print }: Visit, options: ReadOptions): Coroutine<Content | undefined> {
  const { kind, major, minor, size } = decodeStat(print)
  if (kind === 'symlink') {
    const content = linkTarget(directory, name)
    return { content, size: content.length, print }
  }
  if (kind === 'block' || kind === 'char') return { content: `${major}:${minor}`, size: 0, print }
  if (kind !== 'file' || size === 0) return { content: '', size: 0, print }
  if (!Number.isSafeInteger(size)) throw tooLarge(path)
  const plain = options.still ? openIfReadable(directory, name) : undefined
  const fd = plain ?? opened(directory, name, print, path)
  if (fd === undefined) return undefined
  try {
    if (plain !== undefined) return { ...(yield* readStableContent(plain, options)), print }
    if (options.writeOut) yield* writeOut(fd, size)
    // Not the print that was seen: a file that had to be unlocked has a new ctime.
    const start = statEntry(fd, '')?.print ?? print
    const { content, bytes } = yield* options.read(fd)
    options.onRead?.(bytes)
    const torn = statEntry(fd, '')?.print !== start || bytes !== decodeStat(start).size
    return { content, size: bytes, print: start, torn }
  } finally {
    fs.closeSync(fd)
  }
}

function* readStableContent(fd: number, { read, onRead }: ReadOptions): Coroutine<Pick<Content, 'content' | 'size'>> {
  const { content, bytes } = yield* read(fd)
  onRead?.(bytes)
  return { content, size: bytes }
}

/** Undefined if its owner may not read it as it is. Nobody has put anything else there meanwhile. */
function openIfReadable(directory: number, name: string): number | undefined {
  try {
    return fs.openSync(atBytes(directory, name), readFlags | fs.constants.O_NOFOLLOW)
  } catch (error) {
    if (hasCode(error, 'EACCES')) return undefined
    throw error
  }
}

/** Positions in it cannot be told apart any more. Such a file is all hole, and somebody's joke. */
const tooLarge = (path: string): AwError =>
  new AwError('source_failed', `The tree cannot be read whole: ${path} says that it has more than 8 PiB`, {
    hint: 'Remove it, and try again; the tree is untouched',
    data: { path },
  })

function opened(directory: number, name: string, print: StatFingerprint, path: string): number | undefined {
  try {
    return openIfUnchanged(directory, name, print)
  } catch (cause) {
    throw new AwError('source_failed', `The tree cannot be read whole: ${path} may not be read`, {
      hint: 'Change its owner or permissions, and try again; the tree is untouched',
      data: { path },
      cause,
    })
  }
}
