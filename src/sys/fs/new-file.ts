import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { AwError } from '../../domain/errors.ts'
import { temporaryName } from '../../domain/paths.ts'
import { syncDirectoryAsync } from './directories.ts'
import { hasCode, ignoreErrors } from '../syscalls/errno.ts'
import { hostFs } from './host-fs.ts'

interface NewFileOptions {
  /** A file that is there already is replaced. Without it: `file_exists`. */
  readonly replace?: boolean | undefined
  /** A name to suggest to who names a directory. */
  readonly such: string
}

/**
 * Makes a file for a user, which appears under its name when it is complete and on the disk, and is for its owner alone.
 * If it fails, nothing is left behind; if the process is killed, a file `.aw-….tmp` beside it may be.
 */
export async function makeFile<T>(
  file: string,
  { replace = false, such }: NewFileOptions,
  write: (fd: number) => Promise<T>,
): Promise<T> {
  assertFree(file, replace, such)
  const target = resolve(file)
  const temporary = join(dirname(target), temporaryName(randomBytes(8).toString('hex')))
  const fd = create(temporary, file)
  try {
    const written = await write(fd)
    await hostFs.fsync(fd)
    appear(temporary, target, replace)
    await syncDirectoryAsync(dirname(target))
    return written
  } catch (error) {
    ignoreErrors(['ENOENT'], () => hostFs.unlinkSync(temporary))
    throw error
  } finally {
    fs.closeSync(fd)
  }
}

function create(temporary: string, file: string): number {
  try {
    return hostFs.createSync(temporary, 0o600)
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw error
    throw new AwError('file_not_found', `There is no directory for the file: ${dirname(file)}`, {
      hint: 'Make it first, or choose another',
      data: { file },
      cause: error,
    })
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
function assertFree(file: string, replace: boolean, such: string): void {
  const stat = fs.lstatSync(file, { throwIfNoEntry: false })
  if (stat === undefined || (replace && stat.isFile())) return
  if (stat.isFile()) throw taken(file)
  const what = stat.isDirectory() ? 'a directory' : 'something that is no file'
  throw new AwError(replace ? 'not_a_file' : 'file_exists', `There is ${what}: ${file}`, {
    hint: stat.isDirectory() ? `Name a file in it, such as ${file}/${such}` : 'Choose another name',
    data: { file },
  })
}

const taken = (file: string): AwError =>
  new AwError('file_exists', `There is a file already: ${file}`, {
    hint: 'Choose another name, or replace it: --replace',
    data: { file },
  })
