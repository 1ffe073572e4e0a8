import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { TransformOptions } from 'node:stream'
import { constants, createZstdCompress, type ZstdOptions } from 'node:zlib'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { formatSeal } from './seal.ts'

/** Compressed on another thread, written to an open file by this one. */
export interface Compressor extends Disposable {
  /** Waits while much is under way. The chunk must not be changed any more. */
  write(chunk: Buffer): Promise<void>
  /** The rest, and the seal. */
  end(): Promise<Compressed>
}

/** The file that was written. */
export interface Compressed {
  readonly bytes: number
  /** Of all its bytes, in hexadecimal digits. */
  readonly sha256: string
}

const underWay = 2 * 1024 ** 2

export function openCompressor(fd: number, level: number): Compressor {
  const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag } = constants
  const params = { [ZSTD_c_compressionLevel]: level, [ZSTD_c_checksumFlag]: 1 }
  const options: ZstdOptions & TransformOptions = { chunkSize: 256 * 1024, highWaterMark: underWay, params }
  const stream = createZstdCompress(options)
  const sum = createHash('sha256')
  let written = 0
  let failure: Error | undefined
  const fail = (error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error(String(error))
    stream.destroy()
  }
  const store = (bytes: Buffer): void => {
    hostFs.writeSync(fd, bytes)
    written += bytes.length
  }
  stream.on('error', fail)
  stream.on('data', (bytes: Buffer) => {
    try {
      sum.update(bytes)
      store(bytes)
    } catch (error) {
      fail(error)
    }
  })
  const closed = once(stream, 'close')
  const settled = async (event: 'drain' | 'end'): Promise<void> => {
    await Promise.race([once(stream, event), closed])
    if (failure !== undefined) throw failure
  }
  return {
    async write(chunk) {
      if (failure !== undefined) throw failure
      if (!stream.write(chunk)) await settled('drain')
    },
    async end() {
      stream.end()
      await settled('end')
      const seal = formatSeal(sum.copy().digest())
      store(seal)
      return { bytes: written, sha256: sum.update(seal).digest('hex') }
    },
    [Symbol.dispose]: () => stream.destroy(),
  }
}
