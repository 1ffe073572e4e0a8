import * as fs from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { noLimits } from '../../../domain/archive/limits.ts'
import { archiveDirectoryMissing } from '../../../domain/archive/refusals.ts'
import { AwError, toAwError } from '../../../domain/errors.ts'
import type { StoredArchive, StoreArchiveOptions } from '../../../ports/archive-store.ts'
import { assertOwned, ensureDirectory, syncDirectory } from '../../../sys/fs/directories.ts'
import { hasCode, ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { hasDigest } from './digest.ts'
import { verifyArchive } from './inspect.ts'
import { packTree } from './pack.ts'

const stageOf = (path: string, stage: string): string => join(dirname(path), `.aw-${stage}`)

/** What has the name itself; nothing is below what is no directory. */
const statOf = (path: string): fs.Stats | undefined =>
  ignoreErrors(['ENOTDIR'], () => fs.lstatSync(path, { throwIfNoEntry: false }))

export const archiveExists = (path: string): boolean => statOf(path) !== undefined

/** Only the directory itself is made: what is missing above it may be on a disk that is not mounted. */
export function prepareArchiveDirectory(directory: string, { used }: { readonly used: boolean }): void {
  if (isDirectory(directory)) return
  // A link that leads nowhere does so while its disk is away.
  if (used && statOf(directory)?.isFile() !== true) throw archiveDirectoryMissing(directory)
  const parent = dirname(directory)
  if (!isDirectory(parent))
    throw new AwError('file_not_found', `The archive directory ${directory} cannot be made: there is no ${parent}`, {
      hint: `If it is on a disk that is not mounted, mount it; else make it: mkdir -p ${directory}`,
      data: { path: directory },
    })
  usable(directory, 'made', () => ensureDirectory(directory, 0o700))
}

/** In a directory of its own until it is whole: what a killed process leaves there has a name that the log knows. */
export async function storeArchive(tree: string, path: string, options: StoreArchiveOptions): Promise<StoredArchive> {
  const { stage: name, about, ...waiting } = options
  const directory = dirname(path)
  assertOwned(directory, 'directory for archives')
  if (archiveExists(path)) throw taken(path)
  const stage = stageOf(path, name)
  usable(directory, 'written to', () => hostFs.mkdirSync(stage, 0o700))
  try {
    const file = join(stage, basename(path))
    const packed = await packTree(tree, file, { header: about, ...waiting })
    const read = await verifyArchive(file, { limits: noLimits, signal: waiting.signal })
    if (!read.verified || read.digest !== packed.digest || read.entries !== packed.entries) throw unlike(path)
    place(file, path)
    return { bytes: packed.bytes, digest: packed.sha256 }
  } finally {
    clear(stage)
  }
}

function usable(directory: string, what: string, work: () => void): void {
  try {
    work()
  } catch (cause) {
    const { code, message } = toAwError(cause)
    throw new AwError(code, `The directory for archives cannot be ${what}: ${message}`, {
      hint: 'Set archive.directory to a place that you may write to',
      data: { path: directory },
      cause,
    })
  }
}

function place(file: string, path: string): void {
  try {
    hostFs.renameNoReplaceSync(file, path)
  } catch (error) {
    throw hasCode(error, 'EEXIST') ? taken(path) : error
  }
  try {
    syncDirectory(dirname(path))
  } catch (error) {
    hostFs.unlinkSync(path)
    throw error
  }
}

/** It holds files of ours and nothing else. */
function clear(stage: string): void {
  const names = ignoreErrors(['ENOENT', 'ENOTDIR'], () => fs.readdirSync(stage, { encoding: 'buffer' })) ?? []
  const top = Buffer.from(`${stage}/`)
  for (const name of names) ignoreErrors(['ENOENT'], () => hostFs.unlinkSync(Buffer.concat([top, name])))
  ignoreErrors(['ENOENT', 'ENOTDIR'], () => hostFs.rmdirSync(stage))
}

export function discardArchive(path: string, stage: string): void {
  clear(stageOf(path, stage))
  if (statOf(path)?.isFile() !== true) return
  ignoreErrors(['ENOENT'], () => hostFs.unlinkSync(path))
  syncDirectory(dirname(path))
}

export async function removeStoredArchive(
  path: string,
  made: StoredArchive,
): Promise<'removed' | 'absent' | 'changed' | 'unreachable'> {
  const stat = statOf(path)
  if (stat === undefined) return isDirectory(dirname(path)) ? 'absent' : 'unreachable'
  if (!stat.isFile() || stat.size !== made.bytes || !(await hasDigest(path, made.digest))) return 'changed'
  ignoreErrors(['ENOENT'], () => hostFs.unlinkSync(path))
  syncDirectory(dirname(path))
  return 'removed'
}

/** Through a link: where that leads may be on a disk that is not there now. */
const isDirectory = (path: string): boolean =>
  ignoreErrors(['ENOTDIR', 'ELOOP'], () => fs.statSync(path, { throwIfNoEntry: false }))?.isDirectory() === true

const taken = (path: string): AwError =>
  new AwError('file_exists', `There is a file already: ${path}`, { hint: 'Move it away', data: { path } })

const unlike = (path: string): AwError =>
  new AwError('filesystem_error', `The archive ${path} could not be read back as it was written`, {
    hint: 'Check the disk of archive.directory',
    data: { path },
  })
