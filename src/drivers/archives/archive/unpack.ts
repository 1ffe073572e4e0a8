import * as fs from 'node:fs'
import type { ArchiveHeader } from '../../../domain/archive/header.ts'
import { type ArchiveLimits, defaultLimits, noLimits } from '../../../domain/archive/limits.ts'
import { AwError } from '../../../domain/errors.ts'
import { directoryFlags } from '../../../sys/safe-fs/descriptors.ts'
import { runCancellable } from '../../../sys/trees/run-cancellable.ts'
import { type MakeOptions, newTreeMaker, type Omission } from './make-tree.ts'
import { openSource, type ReadOptions, readSource } from './source.ts'

export interface UnpackOptions extends MakeOptions, Omit<ReadOptions, 'limits'> {
  /** Instead of the usual ones, which hold unless it is trusted. */
  readonly limits?: Partial<ArchiveLimits> | undefined
}

export interface Unpacked {
  /** It is ours, and all in it is as its manifest says. */
  readonly verified: boolean
  /** What an archive of ours says about itself. */
  readonly header: ArchiveHeader | null
  /** Names that were made and are not directories. */
  readonly files: number
  /** Of all files, without holes. */
  readonly bytes: number
  readonly digest: string
  /** What was left out. */
  readonly skipped: readonly Omission[]
  /** What was made with less than the archive says: bits, attributes. */
  readonly reduced: readonly Omission[]
}

/**
 * Unpacks a tar file (plain, gzip, zstd; told by its content) into a directory that is empty and that nobody else can
 * reach. Everything in it is untrusted. When it throws, what is in the directory is worth nothing: the caller removes
 * it. Nothing is made durable.
 */
export async function unpackArchive(
  file: string | number,
  directory: string,
  options: UnpackOptions,
): Promise<Unpacked> {
  using source = openSource(file)
  const top = fs.openSync(directory, directoryFlags)
  try {
    if (fs.readdirSync(`/proc/self/fd/${top}`).length > 0)
      throw new AwError('directory_not_empty', `An archive is unpacked into an empty directory: ${directory}`)
    using maker = newTreeMaker(top, options)
    const limits = { ...(options.trusted ? noLimits : defaultLimits), ...options.limits }
    const { header, digest, bytes } = await readSource(source, maker, { ...options, limits })
    await runCancellable(maker.finish(), options.signal)
    const { files, skipped, reduced } = maker
    return { verified: header !== null, header, files, bytes, digest, skipped, reduced }
  } finally {
    fs.closeSync(top)
  }
}
