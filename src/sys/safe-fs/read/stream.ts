import * as fs from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import type { FileReader, FileWriter, PathOptions, WriteOptions } from '../../../ports/files.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { named, translate } from '../errors.ts'
import { answer, infoOf, shownPath } from './info.ts'
import { openFileBelow } from '../open.ts'
import { climbed } from './read.ts'
import { putInPlace } from '../write/replace.ts'
import { countOf, request } from '../request.ts'
import type { Root } from '../root.ts'
import { stage } from '../write/staged.ts'
import { requireFile, target, through } from '../write/write.ts'
import { withSpot } from '../walk.ts'

/** Files that are read and written piece by piece, on another thread: a disk that is slow holds up nobody else. */

export function open(root: Root, path: string, options: PathOptions = {}): FileReader {
  const { fd, stats } = openFileBelow(root, request(root, path, options, { root: false }))
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
  const parsed = target(root, path, options)
  // Parents are made when all is there: one that is missing now is answered with the directory that it would be in.
  const missing = options.parents === false ? undefined : 'answer'
  const file = withSpot(root, parsed, { ...through(options), missing }, (spot) => {
    climbed(path, [...spot.names, ...spot.rest])
    requireFile(spot, path, options)
    const mode = options.mode ?? root.fileMode ?? 0o666
    return named(path, () => stage(spot.dir, mode, spot.stats ? 0o600 : mode))
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
      const now = target(root, path, options)
      const info = withSpot(root, now, through(options), (spot) => {
        requireFile(spot, path, options)
        const keepExisting = options.existing === 'error'
        const stats = named(path, () => putInPlace(root, spot, { ...options, keepExisting }, file))
        return answer(now, infoOf(shownPath(now, spot.names), stats))
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
