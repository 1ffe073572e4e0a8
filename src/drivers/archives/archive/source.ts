import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { newInput } from '../../../domain/archive/input.ts'
import type { ArchiveLimits } from '../../../domain/archive/limits.ts'
import { type Outcome, readArchive, type Sink, type Tally } from '../../../domain/archive/read-archive.ts'
import { archiveRefused, overLimit } from '../../../domain/archive/refusals.ts'
import { blockSize, hasValidChecksum } from '../../../domain/archive/tar-header.ts'
import { AwError } from '../../../domain/errors.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { readFlags } from '../../../sys/safe-fs/descriptors.ts'
import { type Compression, expand, type Extent, isSkippable, zstdMagic } from './expand.ts'
import { parseSeal, sealBytes } from './seal.ts'

/** An archive that is going to be read: an open file, of which it is known how it is compressed. */
export interface Source extends Disposable {
  readonly fd: number
  readonly size: number
  readonly compression: Compression
  /** The hash that the file says it has. */
  readonly seal: Buffer | undefined
}

/** @param file its path; or an open descriptor, which stays open */
export function openSource(file: string | number): Source {
  const fd = typeof file === 'number' ? file : openFile(file)
  const close = (): void => {
    if (typeof file === 'string') fs.closeSync(fd)
  }
  try {
    const stat = fs.fstatSync(fd)
    if (!stat.isFile()) throw archiveRefused('not_an_archive', 'it is not a file')
    const head = readAt(fd, 0, blockSize)
    const compression = compressionOf(head)
    if (compression === undefined) throw archiveRefused('not_an_archive', `it is ${whatIs(head)}`)
    const tail = readAt(fd, Math.max(0, stat.size - sealBytes), sealBytes)
    const seal = compression === 'zstd' ? parseSeal(tail) : undefined
    return { fd, size: stat.size, compression, seal, [Symbol.dispose]: close }
  } catch (error) {
    close()
    throw error
  }
}

function openFile(file: string): number {
  try {
    // Never waits: it may be a pipe.
    return fs.openSync(file, readFlags)
  } catch (error) {
    const isMissing = hasCode(error, 'ENOENT', 'ENOTDIR')
    throw new AwError(
      isMissing ? 'file_not_found' : 'source_failed',
      isMissing ? `There is no file ${file}` : `The archive cannot be opened: ${file}`,
      { hint: isMissing ? 'Check its path' : 'Check that you may read it', data: { file }, cause: error },
    )
  }
}

function readAt(fd: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length)
  return buffer.subarray(0, fs.readSync(fd, buffer, 0, length, position))
}

/** By what it begins with, whatever its name is. */
function compressionOf(head: Buffer): Compression | undefined {
  if (head.length < 4) return undefined
  const magic = head.readUInt32LE(0)
  if (magic === zstdMagic || isSkippable(magic)) return 'zstd'
  if (head.readUInt16BE(0) === 0x1f8b) return 'gzip'
  const isTar = head.length === blockSize && (hasValidChecksum(head) || head.every((byte) => byte === 0))
  return isTar ? 'none' : undefined
}

const others: readonly (readonly [string, string])[] = [
  ['PK', 'a zip file'],
  ['BZh', 'compressed with bzip2'],
  ['\xfd7zXZ', 'compressed with xz'],
  ['7z\xbc\xaf', 'a 7z file'],
]

const whatIs = (head: Buffer): string =>
  others.find(([start]) => head.toString('latin1').startsWith(start))?.[1] ??
  (head.length === 0 ? 'empty' : 'no tar file')

export interface ReadOptions {
  readonly limits: ArchiveLimits
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: ReadProgress) => void) | undefined
}

export interface ReadProgress {
  readonly files: number
  readonly bytes: number
  /** Of the archive, and how much of it has been read. */
  readonly size: number
  readonly read: number
}

/** Reads all of it into a sink. */
export async function readSource(source: Source, sink: Sink, options: ReadOptions): Promise<Outcome & Tally> {
  const reading = readChunks(source, sink, options)
  for (;;) {
    const step = await reading.next()
    if (step.done === true) return step.value
  }
}

/** The same, stopping after each chunk. */
export async function* readChunks(
  source: Source,
  sink: Sink,
  options: ReadOptions,
): AsyncGenerator<void, Outcome & Tally, void> {
  const { limits, signal, onProgress } = options
  const sum = createHash('sha256')
  const extent: Extent = { fd: source.fd, end: source.size - (source.seal ? sealBytes : 0), read: 0 }
  const tally: Tally = { entries: 0, bytes: 0 }
  const input = newInput()
  const steps = readArchive(input, sink, limits, tally)
  let expanded = 0
  for await (const chunk of expand(extent, source.compression, (bytes) => source.seal && sum.update(bytes))) {
    if (signal?.aborted) throw new AwError('aborted', 'Reading the archive was cancelled', { cause: signal.reason })
    expanded += chunk.length
    if (expanded > limits.ratioFrom && expanded > limits.ratio * extent.read)
      throw overLimit('ratio', limits.ratio, `grows ${Math.round(expanded / Math.max(1, extent.read))}-fold`)
    input.push(chunk)
    steps.next()
    onProgress?.({ files: tally.entries, bytes: tally.bytes, size: source.size, read: extent.read })
    yield
  }
  input.end()
  const last = steps.next()
  if (last.done !== true) throw archiveRefused('truncated', 'it ends too early')
  checkSeal(source, last.value, extent, sum.digest())
  return { ...last.value, ...tally }
}

/** Somebody may have packed it otherwise: then there is none, and the manifest alone is what it is compared with. */
function checkSeal({ seal, compression }: Source, { header }: Outcome, { read, end }: Extent, sum: Buffer): void {
  if (header === null || compression !== 'zstd') return
  if (seal === undefined)
    throw archiveRefused('truncated', 'its seal is missing: it was cut short, or packed by another program')
  if (read !== end || !seal.equals(sum))
    throw archiveRefused('manifest', 'it is not the file that was written: its seal is wrong')
}
