import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { temporaryName } from '../../domain/paths.ts'
import type { OnProgress } from '../../ports/storage-driver.ts'
import { syncDirectoryLater } from '../directories.ts'
import { hasCode, unless } from '../errno.ts'
import { hostFs } from '../host-fs.ts'
import { directoryFlags } from '../safe-fs/descriptors.ts'
import { openCompressor } from './compress.ts'
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

export interface Packed extends Written {
  /** Of the file that was made. */
  readonly bytes: number
}

/**
 * Packs a directory that nobody else writes to into one file, which appears under its name when it is complete and on
 * the disk, and is for its owner alone. If it fails, or is cancelled, nothing is left behind; if the process is killed, a
 * file `.aw-….tmp` beside it may be.
 */
export async function packTree(directory: string, file: string, options: PackOptions): Promise<Packed> {
  assertFree(file, options.replace === true)
  const target = resolve(file)
  const temporary = join(dirname(target), temporaryName(randomBytes(8).toString('hex')))
  const top = fs.openSync(directory, directoryFlags)
  try {
    const fd = create(temporary, file)
    try {
      const packed = await write(top, fd, options)
      await hostFs.fsync(fd)
      appear(temporary, target, options.replace === true)
      await syncDirectoryLater(dirname(target))
      return packed
    } catch (error) {
      unless(['ENOENT'], () => hostFs.unlinkSync(temporary))
      throw error
    } finally {
      fs.closeSync(fd)
    }
  } finally {
    fs.closeSync(top)
  }
}

function create(temporary: string, file: string): number {
  try {
    return hostFs.createSync(temporary, 0o600)
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error
    throw new AwError('file_not_found', `There is no directory for the archive: ${dirname(file)}`, {
      hint: 'Make it first, or choose another',
      data: { file },
      cause: error,
    })
  }
}

async function write(top: number, fd: number, options: PackOptions): Promise<Packed> {
  using compressor = openCompressor(fd, options.level ?? 3)
  const tally: Tally = { files: 0, bytes: 0 }
  const chunks = tarOf(top, options.header, tally, options.exclude)
  try {
    for (let step = chunks.next(); ; step = chunks.next()) {
      if (step.done === true) return { ...step.value, bytes: await compressor.end() }
      const { signal } = options
      if (signal?.aborted) throw new AwError('aborted', 'Packing was cancelled', { cause: signal.reason })
      await compressor.write(step.value)
      options.onProgress?.({ ...tally })
    }
  } finally {
    chunks.return({ entries: 0, digest: '', skipped: [] })
  }
}

function appear(temporary: string, target: string, replace: boolean): void {
  try {
    if (replace) hostFs.renameSync(temporary, target)
    else hostFs.renameNoReplaceSync(temporary, target)
  } catch (error) {
    throw hasCode(error, 'EEXIST') ? taken(target) : error
  }
}

/** Also looked at when it appears; but most learn it before the work is done. */
function assertFree(file: string, replace: boolean): void {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined || (replace && stat.isFile())) return
  if (stat.isFile()) throw taken(file)
  const what = stat.isDirectory() ? 'a directory' : 'something that is no file'
  throw new AwError(replace ? 'not_a_file' : 'file_exists', `There is ${what}: ${file}`, {
    hint: stat.isDirectory() ? `Name a file in it, such as ${file}/workspace.aw.tar.zst` : 'Choose another name',
    data: { file },
  })
}

const taken = (file: string): AwError =>
  new AwError('file_exists', `There is a file already: ${file}`, {
    hint: 'Choose another name, or replace it: --replace',
    data: { file },
  })
