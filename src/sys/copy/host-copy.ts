import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { AwError, toAwError } from '../../domain/errors.ts'
import { temporaryName } from '../../domain/paths.ts'
import type { CopyOptions, CopyReport, CopySource } from '../../ports/host.ts'
import type { ImportReport } from '../../ports/storage-driver.ts'
import { copyTree } from './tree.ts'
import { hasCode } from '../syscalls/errno.ts'
import { hostFs } from '../fs/host-fs.ts'
import { chownLike } from './chown-like.ts'
import { at, directoryFlags } from '../safe-fs/descriptors.ts'
import { removeTree } from '../safe-fs/index.ts'
import { assertSource, identitiesIn } from './source-folder.ts'
import { assertTarget, type OwnPaths } from './target-path.ts'

export async function copyIn(
  source: CopySource,
  to: string,
  guarded: readonly string[],
  options: CopyOptions,
): Promise<CopyReport> {
  if (typeof source === 'string' && isFolder(source)) assertSource(source, guarded)
  make(to, 'The top of the workspace')
  giveTo(dirname(to), to)
  return copy(source, to, guarded, options)
}

/** By its descriptor: others may be at work in the tree. */
function giveTo(tree: string, made: string): void {
  const fd = fs.openSync(made, directoryFlags)
  try {
    chownLike(tree, at(fd, '.'))
  } finally {
    fs.closeSync(fd)
  }
}

const isFolder = (path: string): boolean => fs.lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true

/** Into a directory that is there. Files of aw's own are left out. */
async function copy(
  source: CopySource,
  to: string,
  guarded: readonly string[],
  options: CopyOptions & { readonly outward?: boolean },
): Promise<CopyReport> {
  const report = await named(source, () => {
    const { root, path } = typeof source === 'string' ? ofMachine(source) : source
    // Names in trees are bytes, one character each.
    const bytes = Buffer.from(path).toString('latin1')
    // Nor the copy itself, should it lie in what is copied.
    const ofUser = typeof source === 'string'
    return copyTree(root, to, { ...options, ofUser, path: bytes, guarded: identitiesIn([...guarded, to]) })
  })
  const { files, bytes: size, skipped, single = false } = report
  if (single) assertCopied(source, to, skipped)
  if (skipped.some(({ path }) => path === '.')) throw unreadable(source)
  return { files, bytes: size, skipped, single }
}

/** A link is meant itself, unless a slash is behind it. */
function ofMachine(path: string): { root: string; path: string } {
  const meant = path.endsWith('/') && isFolder(path) ? fs.realpathSync.native(path) : path
  return { root: fs.realpathSync.native(dirname(meant)), path: basename(meant) }
}

const sourceText = (source: CopySource): string => (typeof source === 'string' ? source : source.path)

/** What is wrong with the source is said of the path that the caller gave. */
async function named<T>(source: CopySource, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (hasCode(error, 'EACCES', 'EPERM')) throw unreadable(source, error)
    const isMissing = hasCode(error, 'ENOENT', 'ENOTDIR') || toAwError(error).code === 'file_not_found'
    throw isMissing ? absent(source, error) : error
  }
}

/** One file that was left out is nothing at all. */
function assertCopied(source: CopySource, to: string, [left]: ImportReport['skipped']): void {
  if (left?.reason === 'unreadable') throw unreadable(source)
  if (left !== undefined)
    throw new AwError(
      'not_a_file',
      `${sourceText(source)} is no file or directory that can be copied (${left.reason})`,
      {
        hint: 'Only files, directories and links are copied',
        data: { path: sourceText(source), reason: left.reason },
      },
    )
  if (fs.readdirSync(to).length === 0) throw absent(source)
}

const unreadable = (source: CopySource, cause?: unknown): AwError =>
  new AwError('permission_denied', `${sourceText(source)} cannot be read`, {
    hint: 'Ask its owner for the permission to read it',
    data: { path: sourceText(source) },
    cause,
  })

const absent = (source: CopySource, cause?: unknown): AwError =>
  new AwError('file_not_found', `There is no such file or directory: ${sourceText(source)}`, {
    data: { path: sourceText(source) },
    cause,
  })

/** Made beside its place, and put there when it is whole. */
export async function copyOut(
  source: CopySource,
  to: string,
  { guarded, ...own }: OwnPaths & { readonly guarded: readonly string[] },
  { replace = false, ...options }: CopyOptions & { readonly replace?: boolean | undefined },
): Promise<CopyReport> {
  const name = typeof source === 'string' ? basename(source) : source.name
  const isDirectory = fs.statSync(to, { throwIfNoEntry: false })?.isDirectory() === true
  // With a slash behind it, nothing else is meant.
  if (to.endsWith('/') && !isDirectory)
    throw new AwError('file_not_found', `There is no directory ${to}`, {
      hint: 'Make it first, or leave out the slash: then the copy gets that name',
      data: { path: to },
    })
  if (isDirectory && name === '.')
    throw new AwError('file_exists', `There is a directory at ${to} already`, {
      hint: 'Name the directory that is to be made',
      data: { path: to },
    })
  const target = isDirectory ? join(to, name) : to
  assertTarget(target, own)
  const temporary = join(dirname(target), temporaryName(randomBytes(8).toString('hex')))
  make(temporary, dirname(target))
  try {
    const report = await copy(source, temporary, guarded, { ...options, outward: true })
    // rename(2) lets a directory replace an empty one, which we never do.
    const move = replace && report.single ? hostFs.renameSync : hostFs.renameNoReplaceSync
    move(report.single ? join(temporary, basename(sourceText(source))) : temporary, target)
    return report
  } catch (error) {
    throw hasCode(error, 'EEXIST', 'ENOTEMPTY', 'EISDIR') ? taken(target, error) : error
  } finally {
    await removeTree(dirname(temporary), basename(temporary))
  }
}

/** @param where what the caller knows the directory as that it is made in */
function make(temporary: string, where: string): void {
  try {
    hostFs.mkdirSync(temporary, 0o700)
  } catch (cause) {
    const details = { data: { path: where }, cause }
    if (hasCode(cause, 'ENOENT', 'ENOTDIR'))
      throw new AwError('file_not_found', `There is no directory ${where}`, { hint: 'Make it first', ...details })
    if (hasCode(cause, 'ENOSPC', 'EDQUOT'))
      throw new AwError('disk_full', `There is no room left in ${where}`, {
        hint: 'See what takes it with aw usage, and make room with aw gc',
        ...details,
      })
    if (!hasCode(cause, 'EACCES', 'EPERM', 'EROFS')) throw cause
    throw new AwError('permission_denied', `${where} cannot be written to`, {
      hint: 'Ask for the permission to write there, or name another place',
      ...details,
    })
  }
}

function taken(target: string, cause: unknown): AwError {
  const isDirectory = fs.lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true
  return new AwError('file_exists', `There is ${isDirectory ? 'a directory' : 'something'} at ${target} already`, {
    hint: isDirectory ? 'Name another path' : 'Name another path, or replace it if it is a file: --replace',
    data: { path: target },
    cause,
  })
}
