import * as fs from 'node:fs'
import type { FileInfo, PathOptions } from '../../../ports/files.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { chownLike } from '../../copy/chown-like.ts'
import { copyDirectory, fillFrom } from './copy-directory.ts'
import { at } from '../descriptors.ts'
import { refusal, translatingErrors } from '../errors.ts'
import { resolvedEntryInfo } from '../read/info.ts'
import { replaceFile } from './replace.ts'
import { newTemporaryName } from './staged.ts'
import { parseRequest } from '../request.ts'
import type { Root } from '../root.ts'
import type { ResolvedEntry } from '../resolved-entry.ts'
import { withResolvedEntry } from '../walk.ts'

type CopyOptions = PathOptions & { replace?: boolean; recursive?: boolean; parents?: boolean }

/** Neither end's link is followed: a link is copied as a link, and one at the target is replaced. */
export function copy(root: Root, from: string, to: string, options: CopyOptions = {}): FileInfo {
  const source = parseRequest(root, from, options)
  const target = parseRequest(root, to, options, { root: false })
  const missing = options.parents ? 'make' : undefined
  return withResolvedEntry(root, source, { follow: false }, (old) => {
    if (!old.stats) throw refusal('file_not_found', from)
    if (!copyable(old.stats, options)) throw refusal('not_a_file', from)
    if (target.directory && !old.stats.isDirectory()) throw refusal('not_a_directory', to)
    return withResolvedEntry(
      root,
      { ...target, directory: false },
      { follow: false, change: true, missing },
      (entry) => {
        const taken = entry.stats && (!options.replace || entry.stats.isDirectory() || old.stats?.isDirectory())
        if (taken) throw refusal('file_exists', to)
        if (old.stats?.isDirectory() && isBelow(entry.names, old.names)) throw refusal('invalid_path', to)
        translatingErrors(to, () => put(root, old, entry, options), { ENOTEMPTY: 'file_exists', EISDIR: 'file_exists' })
        return resolvedEntryInfo(
          root,
          target,
          entry,
          translatingErrors(to, () => fs.lstatSync(at(entry.dir, entry.name))),
        )
      },
    )
  })
}

const copyable = (stats: fs.Stats, options: CopyOptions): boolean =>
  stats.isFile() || stats.isSymbolicLink() || (stats.isDirectory() && options.recursive === true)

const isBelow = (names: readonly string[], above: readonly string[]): boolean =>
  above.every((name, index) => names[index] === name)

function put(root: Root, old: ResolvedEntry, entry: ResolvedEntry, options: CopyOptions): void {
  if (old.stats?.isDirectory()) {
    copyDirectory(root, old, entry)
    return
  }
  if (old.stats?.isSymbolicLink()) {
    copyLink(old, entry, options)
    return
  }
  // What is replaced passes on its attributes only if it is a file.
  const over = entry.stats?.isFile() ? entry : { ...entry, stats: undefined }
  const mode = over.stats ? undefined : (old.stats?.mode ?? 0) & 0o777
  replaceFile(root, over, { mode, keepExisting: !options.replace }, (fd) => fillFrom(old, fd))
}

function copyLink(old: ResolvedEntry, entry: ResolvedEntry, options: CopyOptions): void {
  const temporary = at(entry.dir, newTemporaryName())
  hostFs.symlinkSync(fs.readlinkSync(at(old.dir, old.name), { encoding: 'buffer' }), temporary)
  try {
    chownLike(at(entry.dir, '.'), temporary)
    const rename = options.replace ? hostFs.renameSync : hostFs.renameNoReplaceSync
    rename(temporary, at(entry.dir, entry.name))
  } catch (error) {
    hostFs.unlinkSync(temporary)
    throw error
  }
}
