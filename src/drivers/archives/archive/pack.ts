import * as fs from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import type { OnProgress } from '../../../ports/storage-driver.ts'
import { makeFile } from '../../../sys/fs/new-file.ts'
import { directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { type Compressed, openCompressor } from './compress.ts'
import { type Tally, tarOf, type Written } from './write-tree.ts'

export interface PackOptions {
  /** What the archive says about itself; JSON. */
  readonly header: Readonly<Record<string, unknown>>
  /** Names at the top that are left out. */
  readonly exclude?: readonly string[] | undefined
  /** A file that is there already is replaced. Without it: `file_exists`. */
  readonly replace?: boolean | undefined
  /** Of zstd, 1 to 19. */
  readonly level?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: OnProgress | undefined
}

/** What was packed, and the file that was made of it. */
export type Packed = Written & Compressed

/** Packs a directory that nobody else writes to into one file; see `makeFile` for how that appears. */
export async function packTree(directory: string, file: string, options: PackOptions): Promise<Packed> {
  const naming = { replace: options.replace, such: 'workspace.aw.tar.zst' }
  const top = fs.openSync(directory, directoryFlags)
  try {
    return await makeFile(file, naming, (fd) => write(top, fd, options))
  } finally {
    fs.closeSync(top)
  }
}

async function write(top: number, fd: number, options: PackOptions): Promise<Packed> {
  using compressor = openCompressor(fd, options.level ?? 3)
  const tally: Tally = { files: 0, bytes: 0 }
  const chunks = tarOf(top, options.header, tally, options.exclude)
  try {
    for (let step = chunks.next(); ; step = chunks.next()) {
      if (step.done === true) return { ...step.value, ...(await compressor.end()) }
      const { signal } = options
      if (signal?.aborted) throw new AwError('aborted', 'Packing was cancelled', { cause: signal.reason })
      await compressor.write(step.value)
      options.onProgress?.({ ...tally })
    }
  } finally {
    chunks.return({ entries: 0, digest: '', skipped: [] })
  }
}
