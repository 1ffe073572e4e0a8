import { hash as hashOf, randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { hasCode } from '../../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../../sys/fs/host-fs.ts'
import { shareBlocks } from '../../../../sys/safe-fs/write/copy-content.ts'
import type { Coroutine } from '../../../../sys/safe-fs/coroutine.ts'
import { hashSteps } from '../../../../sys/trees/content-hash.ts'

/**
 * Contents of files, each once, under the name that is made of its bytes: `objects/<2 digits>/<name>`. A file appears
 * there by a rename when its bytes are on the disk, and never changes; nothing in a volume is ever linked to one, as a
 * write there would reach it. Shares blocks with volumes where the file system can.
 */
export interface Objects {
  /**
   * Takes in the content of an open file, if it is not there: it will be when it is published. Answers its name; the
   * empty content has none: ''.
   */
  put(fd: number): Coroutine<{ content: string; bytes: number }>
  /** Gives a content that another store holds its name here too. False if it is not there. */
  adopt(content: string, file: string): boolean
  /** What was taken in and is not published. */
  pending(): string[]
  /** Gives all that was taken in its name. Its bytes are on the disk by then. Answers the directories that changed. */
  publish(): string[]
  /**
   * Fills an open, empty file. True if the bytes that were written have been found to be the right ones; where blocks are
   * shared no byte passes through us, and only the size is compared. `undefined`: the object is missing or not whole.
   */
  fill(content: string, size: number, to: number): Coroutine<{ shared: boolean } | undefined>
  /** Undefined if it is there and what its name says. */
  problem(content: string, size: number): Coroutine<string | undefined>
  path(content: string): string
  /** The names of all that are there. */
  all(): Set<string>
}

/** Up to here a file is read whole, and nothing is written if its content is there. */
const smallest = 1024 * 1024
const small = Buffer.allocUnsafeSlow(smallest)

/** In a storage root. */
export const objectsDirectory = 'objects'

export function openObjects(root: string): Objects {
  const path = (content: string): string => join(root, objectsDirectory, content.replace(/^s/, '').slice(0, 2), content)
  /** Known to be there, or where it was taken in. */
  const known = new Map<string, string | undefined>()
  const made = new Set<string>()
  let sharing = true

  /** One of another size was cut short: it is taken in again, and replaced. */
  const has = (content: string, bytes: number): boolean => {
    if (known.has(content)) return true
    if (fs.lstatSync(path(content), { throwIfNoEntry: false })?.size !== bytes) return false
    known.set(content, undefined)
    return true
  }

  const incoming = (): string => join(root, 'incoming', `object-${randomBytes(8).toString('hex')}`)

  const ensureHolder = (content: string): string => {
    const directory = dirname(path(content))
    if (!made.has(directory)) makeDirectory(directory)
    made.add(directory)
    return directory
  }

  const publish = (content: string, temporary: string): string => {
    const directory = ensureHolder(content)
    hostFs.renameSync(temporary, path(content))
    known.set(content, undefined)
    return directory
  }

  function* putLarge(fd: number): Coroutine<{ content: string; bytes: number }> {
    const temporary = incoming()
    const to = hostFs.createSync(temporary, 0o600)
    try {
      sharing &&= shareBlocks(fd, to)
      // What was shared cannot change any more, unlike the file it was shared with.
      const { hash: content, bytes } = sharing ? yield* hashFile(temporary) : yield* copyHashing(fd, to)
      hostFs.fchmodSync(to, 0o400)
      if (has(content, bytes)) hostFs.unlinkSync(temporary)
      else known.set(content, temporary)
      return { content, bytes }
    } catch (error) {
      hostFs.unlinkSync(temporary)
      throw error
    } finally {
      fs.closeSync(to)
    }
  }

  return {
    path,
    adopt(content, file) {
      if (known.has(content)) return true
      if (!fs.existsSync(file)) return false
      ensureHolder(content)
      linkOrCopy(file, path(content))
      known.set(content, undefined)
      return true
    },
    pending: () => [...known.values()].filter((temporary) => temporary !== undefined),
    publish() {
      const changed = [...known].flatMap(([content, temporary]) =>
        temporary === undefined ? [] : [publish(content, temporary)],
      )
      return changed.length === 0 ? [] : [...new Set(changed), join(root, objectsDirectory)]
    },
    all: () =>
      new Set(
        fs
          .readdirSync(join(root, objectsDirectory))
          .flatMap((name) => fs.readdirSync(join(root, objectsDirectory, name))),
      ),
    *put(fd) {
      const got = fs.readSync(fd, small, 0, smallest, 0)
      if (got === 0) return { content: '', bytes: 0 }
      // One with zeros in it has another name, and is worth a hole.
      if (got === smallest || hasZeros(small, got)) return yield* putLarge(fd)
      const bytes = small.subarray(0, got)
      const content = hashOf('sha256', bytes)
      if (!has(content, got)) {
        const temporary = incoming()
        const to = hostFs.createSync(temporary, 0o400)
        try {
          hostFs.writeSync(to, bytes)
        } finally {
          fs.closeSync(to)
        }
        known.set(content, temporary)
      }
      return { content, bytes: got }
    },
    *fill(content, size, to) {
      const from = openIfPresent(path(content))
      if (from === undefined) return undefined
      try {
        if (fs.fstatSync(from).size !== size) return undefined
        if (size <= smallest && !content.startsWith('s')) return fillSmall(from, content, to)
        sharing &&= shareBlocks(from, to)
        if (sharing) return { shared: true }
        const { hash } = yield* copyHashing(from, to)
        return hash === content ? { shared: false } : undefined
      } finally {
        fs.closeSync(from)
      }
    },
    *problem(content, size) {
      const fd = openIfPresent(path(content))
      if (fd === undefined) return 'its content is missing'
      try {
        const { hash, bytes } = yield* hashSteps(fd)
        if (bytes !== size) return `its content has ${bytes} bytes instead of ${size}`
        return hash === content ? undefined : 'its content is damaged'
      } finally {
        fs.closeSync(fd)
      }
    },
  }
}

/** For a small file a copy is cheaper than sharing blocks, and it is checked. */
function fillSmall(from: number, content: string, to: number): { shared: boolean } | undefined {
  const bytes = small.subarray(0, fs.readSync(from, small, 0, smallest, 0))
  if (hashOf('sha256', bytes) !== content) return undefined
  hostFs.writeSync(to, bytes)
  return { shared: false }
}

function* copyHashing(from: number, to: number): Coroutine<{ hash: string; bytes: number }> {
  const hashed = yield* hashSteps(from, (bytes, position) => hostFs.writeSync(to, bytes, position))
  hostFs.ftruncateSync(to, hashed.bytes)
  return hashed
}

function* hashFile(path: string): Coroutine<{ hash: string; bytes: number }> {
  const fd = fs.openSync(path, 'r')
  try {
    return yield* hashSteps(fd)
  } finally {
    fs.closeSync(fd)
  }
}

const zeroBlock = 64 * 1024
const zeros = Buffer.alloc(zeroBlock)

function hasZeros(bytes: Buffer, length: number): boolean {
  for (let at = 0; at + zeroBlock <= length; at += zeroBlock) {
    if (bytes.compare(zeros, 0, zeroBlock, at, at + zeroBlock) === 0) return true
  }
  return false
}

function openIfPresent(path: string): number | undefined {
  try {
    return fs.openSync(path, 'r')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Not every file system has links, and a file can have only so many. */
function linkOrCopy(from: string, to: string): void {
  try {
    hostFs.linkSync(from, to)
  } catch (error) {
    if (!hasCode(error, 'EPERM', 'EMLINK', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS')) throw error
    hostFs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE)
  }
}

function makeDirectory(path: string): void {
  try {
    hostFs.mkdirSync(path, 0o700)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
}
