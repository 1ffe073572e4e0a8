import * as fs from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import type { FileReader, FileWriter, PathOptions, WriteOptions } from '../../../ports/files.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { translate, translatingErrors } from '../errors.ts'
import { infoOf, shownPath, withRebased } from './info.ts'
import { openFileBelow } from '../open.ts'
import { resolveDotDot } from './read.ts'
import { putInPlace } from '../write/replace.ts'
import { countOf, parseRequest } from '../request.ts'
import type { Root } from '../root.ts'
import { stage } from '../write/staged.ts'
import { followingLinks, requireFile, targetPath } from '../write/write.ts'
import { withResolvedEntry } from '../walk.ts'

/** Files that are read and written piece by piece, on another thread: a disk that is slow holds up nobody else. */

export function open(root: Root, path: string, options: PathOptions = {}): FileReader {
  const { fd, stats } = openFileBelow(root, parseRequest(root, path, options, { root: false }))
  const usage = useOf(path, () => fs.closeSync(fd))
  const { size, mtime } = infoOf(path, stats)
  return {
    size,
    mtime,
    read: (offset, length) =>
      usage.during(() => readBytes(fd, countOf(offset, 'offset', 0), countOf(length, 'length', 0))),
    [Symbol.dispose]: () => usage.end(),
  }
}

async function readBytes(fd: number, offset: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(length)
  let done = 0
  while (done < length) {
    const got = await readSome(fd, buffer, done, offset + done)
    if (got === 0) break
    done += got
  }
  return done === length ? buffer : buffer.subarray(0, done)
}

const readSome = (fd: number, buffer: Buffer, from: number, position: number): Promise<number> =>
  new Promise((resolve, reject) =>
    fs.read(fd, buffer, from, buffer.length - from, position, (error, count) =>
      error ? reject(error) : resolve(count),
    ),
  )

export function create(root: Root, path: string, options: WriteOptions = {}): FileWriter {
  const parsed = targetPath(root, path, options)
  // Parents are made when all is there: one that is missing now is answered with the directory that it would be in.
  const missing = options.parents === false ? undefined : 'answer'
  const file = withResolvedEntry(root, parsed, { ...followingLinks(options), missing }, (entry) => {
    resolveDotDot(path, [...entry.names, ...entry.rest])
    requireFile(entry, path, options)
    const mode = options.mode ?? root.fileMode ?? 0o666
    return translatingErrors(path, () => stage(entry.dir, mode, entry.stats ? 0o600 : mode))
  })
  const usage = useOf(path, () => file[Symbol.dispose]())
  let size = 0
  return {
    get size() {
      return size
    },
    write: (bytes) =>
      usage.during(async () => {
        await hostFs.write(file.fd, bytes)
        size += bytes.length
      }),
    finish() {
      usage.assertIdle()
      const now = targetPath(root, path, options)
      const info = withResolvedEntry(root, now, followingLinks(options), (entry) => {
        requireFile(entry, path, options)
        const keepExisting = options.existing === 'error'
        const stats = translatingErrors(path, () => putInPlace(root, entry, { ...options, keepExisting }, file))
        return withRebased(now, infoOf(shownPath(now, entry.names), stats))
      })
      usage.end()
      return info
    },
    [Symbol.dispose]: () => usage.end(),
  }
}

interface Usage {
  during<T>(work: () => Promise<T>): Promise<T>
  assertIdle(): void
  end(): void
}

/** A descriptor is closed when nothing is done with it any more: its number may be somebody else's a moment later. */
function useOf(path: string, close: () => void): Usage {
  let busy = false
  let ended = false
  const assertIdle = (): void => {
    if (busy || ended)
      throw new AwError('internal', ended ? 'The file is closed' : 'The file is in use', { data: { path } })
  }
  return {
    assertIdle,
    async during(work) {
      assertIdle()
      busy = true
      try {
        return await work()
      } catch (error) {
        throw translate(error, path)
      } finally {
        busy = false
        if (ended) close()
      }
    },
    end() {
      if (ended) return
      ended = true
      if (!busy) close()
    },
  }
}
