import * as fs from 'node:fs'
import type { ParsedPath } from '../../../domain/paths.ts'
import type { FileInfo, PathOptions, WriteOptions } from '../../../ports/files.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { copyContent } from './copy-content.ts'
import { at, errnoOf } from '../descriptors.ts'
import { refusal, translatingErrors } from '../errors.ts'
import { infoOf, shownPath, withRebased } from '../read/info.ts'
import { makeDirectory } from './make-directory.ts'
import { replaceFile } from './replace.ts'
import { parseRequest, toBytes } from '../request.ts'
import type { Root } from '../root.ts'
import type { ResolvedEntry, WalkOptions } from '../resolved-entry.ts'
import { withResolvedEntry } from '../walk.ts'

/** Where a file is to be put; refused if it cannot be. */
export function targetPath(root: Root, path: string, options: WriteOptions): ParsedPath {
  const parsed = parseRequest(root, path, options, { root: false })
  if (parsed.directory) throw refusal('not_a_file', path)
  return parsed
}

/** A link that stays inside is written through, as by every editor: the file it leads to is replaced, the link stays. */
export const followingLinks = (options: { parents?: boolean | undefined }): WalkOptions => ({
  follow: true,
  missing: options.parents === false ? undefined : 'make',
  change: true,
})

export function write(root: Root, path: string, content: Uint8Array | string, options: WriteOptions = {}): FileInfo {
  const bytes = toBytes(content)
  const parsed = targetPath(root, path, options)
  return withResolvedEntry(root, parsed, followingLinks(options), (entry) => {
    requireFile(entry, path, options)
    const stats = translatingErrors(path, () =>
      replaceFile(root, entry, { ...options, keepExisting: options.existing === 'error' }, (fd) =>
        hostFs.writeSync(fd, bytes),
      ),
    )
    return withRebased(parsed, infoOf(shownPath(parsed, entry.names), stats))
  })
}

export function append(root: Root, path: string, content: Uint8Array | string, options: WriteOptions = {}): FileInfo {
  const bytes = toBytes(content)
  const parsed = targetPath(root, path, options)
  for (;;) {
    const info = withResolvedEntry(root, parsed, followingLinks(options), (entry) => {
      requireFile(entry, path, options)
      const stats = translatingErrors(path, () => appendAt(root, entry, bytes, options))
      return stats && withRebased(parsed, infoOf(shownPath(parsed, entry.names), stats))
    })
    if (info) return info
  }
}

export function requireFile(entry: ResolvedEntry, path: string, options: WriteOptions): void {
  if (!entry.stats) return
  if (options.existing === 'error') throw refusal('file_exists', path)
  if (!entry.stats.isFile()) throw refusal('not_a_file', path)
}

/** Undefined if somebody else made the file in that instant: then there is one to append to. */
function appendAt(root: Root, entry: ResolvedEntry, bytes: Uint8Array, options: WriteOptions): fs.Stats | undefined {
  const { fd, stats } = entry
  if (fd === undefined || !stats) {
    return appendToNew(root, entry, bytes, options)
  }
  // Another name of the same file may be outside, or protected: it must not change. So the file is copied first.
  if (stats.nlink > 1) {
    return replaceFile(root, entry, options, (to) => {
      copyContent(fd, to)
      appendTo(at(to), bytes, {})
    })
  }
  return appendTo(at(fd), bytes, options)
}

function appendToNew(root: Root, entry: ResolvedEntry, bytes: Uint8Array, options: WriteOptions): fs.Stats | undefined {
  try {
    return replaceFile(root, entry, { ...options, keepExisting: true }, (to) => hostFs.writeSync(to, bytes))
  } catch (error) {
    if (errnoOf(error) === 'EEXIST' && options.existing !== 'error') return undefined
    throw error
  }
}

function appendTo(path: string, bytes: Uint8Array, options: { durable?: boolean | undefined }): fs.Stats {
  const fd = hostFs.openAppendSync(path)
  try {
    hostFs.writeSync(fd, bytes)
    if (options.durable) hostFs.fsyncSync(fd)
    return fs.fstatSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

export function mkdir(
  root: Root,
  path: string,
  options: PathOptions & { parents?: boolean; mode?: number } = {},
): FileInfo {
  const parsed = parseRequest(root, path, options)
  const missing = options.parents ? 'make' : undefined
  return withResolvedEntry(root, { ...parsed, directory: false }, { follow: true, missing, change: true }, (entry) => {
    const { stats } = entry
    if (stats && !(options.parents && stats.isDirectory())) throw refusal('file_exists', path)
    const made = stats ?? translatingErrors(path, () => makeAt(root, entry, options))
    if (!made.isDirectory()) throw refusal('file_exists', path)
    return withRebased(parsed, infoOf(shownPath(parsed, entry.names), made))
  })
}

function makeAt(root: Root, entry: ResolvedEntry, options: { parents?: boolean; mode?: number }): fs.Stats {
  const made = makeDirectory(root, entry.dir, entry.name, options.mode ?? root.dirMode)
  if (!made && !options.parents) throw Object.assign(new Error('EEXIST: mkdir'), { code: 'EEXIST', syscall: 'mkdir' })
  return fs.lstatSync(at(entry.dir, entry.name))
}
