import * as fs from 'node:fs'
import { pipeline, Readable, type Transform } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { constants, createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib'
import { maxFrames } from '../../../domain/archive/limits.ts'
import { archiveRefused, overLimit } from '../../../domain/archive/refusals.ts'

export type Compression = 'zstd' | 'gzip' | 'none'

/** The part of an open file that is to be read, and how far that is. */
export interface Extent {
  readonly fd: number
  readonly end: number
  /** How many bytes were needed for what came out so far. */
  read: number
}

const chunkSize = 256 * 1024
/** As much as `zstd` itself takes unless it is told otherwise: 128 MiB of memory. */
const maxWindow = 27

/**
 * What is in it, uncompressed, in chunks. Every byte up to its end is accounted for, or it is an error.
 * @param onRead sees each byte of the first piece of compressed data, in order
 */
export async function* expand(
  extent: Extent,
  compression: Compression,
  onRead: (bytes: Buffer) => void,
): AsyncGenerator<Buffer> {
  if (compression === 'none') {
    for (const chunk of reads(extent, 0, onRead)) {
      extent.read += chunk.length
      yield chunk
      await setImmediate()
    }
  } else if (compression === 'gzip') yield* through(createGunzip({ chunkSize }), extent, onRead)
  else yield* frames(extent, onRead)
}

/** Node's stream ends with the first frame; how far it has read says where the next one begins. */
async function* frames(extent: Extent, onRead: (bytes: Buffer) => void): AsyncGenerator<Buffer> {
  for (let count = 0; extent.read < extent.end; count++) {
    if (count > maxFrames) throw overLimit('frames', maxFrames, 'is made of more pieces')
    const skip = skippable(extent)
    if (skip > 0) extent.read += skip
    else {
      const params = { [constants.ZSTD_d_windowLogMax]: maxWindow }
      yield* through(createZstdDecompress({ chunkSize, params }), extent, count === 0 ? onRead : () => undefined)
    }
  }
}

export const zstdMagic = 0xfd2fb528
/** Without its last four bits, which anybody may choose. */
const skippableMagic = 0x184d2a5

export const isSkippable = (magic: number): boolean => magic >>> 4 === skippableMagic

/** The length of a frame that holds nothing of the content; 0 if it is another one. */
function skippable({ fd, read, end }: Extent): number {
  const head = Buffer.alloc(8)
  const got = fs.readSync(fd, head, 0, Math.min(8, end - read), read)
  const magic = head.readUInt32LE(0)
  if (got >= 4 && magic === zstdMagic) return 0
  if (got < 8 || !isSkippable(magic)) throw archiveRefused('trailing', 'there is something behind its compressed part')
  const length = 8 + head.readUInt32LE(4)
  if (read + length > end) throw archiveRefused('truncated', 'it ends too early')
  return length
}

async function* through(
  stream: Transform & (Gunzip | ZstdDecompress),
  extent: Extent,
  onRead: (bytes: Buffer) => void,
): AsyncGenerator<Buffer> {
  const start = extent.read
  const source = Readable.from(reads(extent, start, onRead), { objectMode: true, highWaterMark: 2 })
  // Whoever iterates the last stream learns of a failure.
  pipeline(source, stream, () => undefined)
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      extent.read = start + stream.bytesWritten
      yield chunk
    }
    extent.read = start + stream.bytesWritten
  } catch (error) {
    throw isOfData(error) ? broken(error) : error
  } finally {
    source.destroy()
    stream.destroy()
  }
}

const isOfData = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'code' in error && /^(Z_|ZSTD_)/.test(String(error.code))

function broken(error: NodeJS.ErrnoException): Error {
  if (error.code === 'Z_BUF_ERROR') return archiveRefused('truncated', 'it ends too early', undefined, error)
  const isWindow = String(error.code).includes('windowTooLarge')
  const what = isWindow ? 'it needs more than 128 MiB of memory to be unpacked' : 'its compressed data is damaged'
  return archiveRefused('compression', what, undefined, error)
}

function* reads({ fd, end }: Extent, start: number, onRead: (bytes: Buffer) => void): Generator<Buffer, void, void> {
  for (let at = start; at < end;) {
    // Not the one before: it may still be in use on another thread.
    const buffer = Buffer.allocUnsafeSlow(Math.min(chunkSize, end - at))
    const got = fs.readSync(fd, buffer, 0, buffer.length, at)
    if (got === 0) throw archiveRefused('truncated', 'it became shorter while it was read')
    const bytes = buffer.subarray(0, got)
    onRead(bytes)
    at += got
    yield bytes
  }
}
