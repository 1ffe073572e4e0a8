import * as fs from 'node:fs'
import type { FileInfo, PathOptions } from '../../../ports/files.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { ownLike } from '../../copy/chown-like.ts'
import { copyDirectory, fillFrom } from './copy-directory.ts'
import { at } from '../descriptors.ts'
import { named, refusal } from '../errors.ts'
import { spotInfo } from '../read/info.ts'
import { replaceFile } from './replace.ts'
import { newTemporaryName } from './staged.ts'
import { request } from '../request.ts'
import type { Root } from '../root.ts'
import type { Spot } from '../resolved-entry.ts'
import { withSpot } from '../walk.ts'

type CopyOptions = PathOptions & { replace?: boolean; recursive?: boolean; parents?: boolean }

/** Neither end's link is followed: a link is copied as a link, and one at the target is replaced. */
export function copy(root: Root, from: string, to: string, options: CopyOptions = {}): FileInfo {
  const source = request(root, from, options)
  const target = request(root, to, options, { root: false })
  const missing = options.parents ? 'make' : undefined
  return withSpot(root, source, { follow: false }, (old) => {
    if (!old.stats) throw refusal('file_not_found', from)
    if (!copyable(old.stats, options)) throw refusal('not_a_file', from)
    if (target.directory && !old.stats.isDirectory()) throw refusal('not_a_directory', to)
    return withSpot(root, { ...target, directory: false }, { follow: false, change: true, missing }, (spot) => {
      const taken = spot.stats && (!options.replace || spot.stats.isDirectory() || old.stats?.isDirectory())
      if (taken) throw refusal('file_exists', to)
      if (old.stats?.isDirectory() && isBelow(spot.names, old.names)) throw refusal('invalid_path', to)
      named(to, () => put(root, old, spot, options), { ENOTEMPTY: 'file_exists', EISDIR: 'file_exists' })
      return spotInfo(
        root,
        target,
        spot,
        named(to, () => fs.lstatSync(at(spot.dir, spot.name))),
      )
    })
  })
}

const copyable = (stats: fs.Stats, options: CopyOptions): boolean =>
  stats.isFile() || stats.isSymbolicLink() || (stats.isDirectory() && options.recursive === true)

const isBelow = (names: readonly string[], above: readonly string[]): boolean =>
  above.every((name, index) => names[index] === name)

function put(root: Root, old: Spot, spot: Spot, options: CopyOptions): void {
  if (old.stats?.isDirectory()) {
    copyDirectory(root, old, spot)
    return
  }
  if (old.stats?.isSymbolicLink()) {
    copyLink(old, spot, options)
    return
  }
  // What is replaced passes on its attributes only if it is a file.
  const over = spot.stats?.isFile() ? spot : { ...spot, stats: undefined }
  const mode = over.stats ? undefined : (old.stats?.mode ?? 0) & 0o777
  replaceFile(root, over, { mode, keepExisting: !options.replace }, (fd) => fillFrom(old, fd))
}

function copyLink(old: Spot, spot: Spot, options: CopyOptions): void {
  const temporary = at(spot.dir, newTemporaryName())
  hostFs.symlinkSync(fs.readlinkSync(at(old.dir, old.name), { encoding: 'buffer' }), temporary)
  try {
    ownLike(at(spot.dir, '.'), temporary)
    const rename = options.replace ? hostFs.renameSync : hostFs.renameNoReplaceSync
    rename(temporary, at(spot.dir, spot.name))
  } catch (error) {
    hostFs.unlinkSync(temporary)
    throw error
  }
}
