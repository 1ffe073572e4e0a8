import * as fs from 'node:fs'
import type { FileInfo, PathOptions, Unlocking } from '../../../ports/files.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { unlock } from '../../trees/unlock.ts'
import { at, directoryFlags } from '../descriptors.ts'
import { named, refusal } from '../errors.ts'
import { spotInfo } from '../read/info.ts'
import { request } from '../request.ts'
import type { Root } from '../root.ts'
import type { Spot } from '../resolved-entry.ts'
import { withSpot } from '../walk.ts'

/** What a rename's failures mean: something is in the way, the target is below the source, or an overlay cannot. */
const meanings = {
  ENOTEMPTY: 'file_exists',
  EISDIR: 'file_exists',
  ENOTDIR: 'file_exists',
  EINVAL: 'invalid_path',
  EXDEV: 'unsupported',
} as const

/** Links are renamed, not what they lead to. */
export function rename(
  root: Root,
  from: string,
  to: string,
  options: PathOptions & Unlocking & { replace?: boolean; parents?: boolean } = {},
): FileInfo {
  const source = request(root, from, options, { root: false })
  const target = request(root, to, options, { root: false })
  const missing = options.parents ? 'make' : undefined
  return withSpot(root, source, { follow: false, change: true }, (old) => {
    if (!old.stats) throw refusal('file_not_found', from)
    if (old.name === '') throw refusal('invalid_path', from)
    // rename(2) lets a directory replace an empty one, which we never do.
    const mayReplace = options.replace && !old.stats.isDirectory()
    const directory = target.directory && !old.stats.isDirectory()
    if (directory) throw refusal('not_a_directory', to)
    const asNamed = { ...target, directory: false }
    return withSpot(root, asNamed, { follow: false, change: true, missing, unlock: options.unlock }, (spot) => {
      if (spot.name === '') throw refusal('file_exists', to)
      const move = mayReplace ? hostFs.renameSync : hostFs.renameNoReplaceSync
      const act = (): void => move(at(old.dir, old.name), at(spot.dir, spot.name))
      named(to, () => (options.unlock ? unlocked(old, spot, act) : act()), meanings)
      const stats = named(to, () => fs.lstatSync(at(spot.dir, spot.name)))
      return spotInfo(root, target, spot, stats)
    })
  })
}

/** A directory that gets another parent is written to as well. */
function unlocked(old: Spot, spot: Spot, move: () => void): void {
  using _from = unlock(old.dir, 0o300)
  using _to = unlock(spot.dir, 0o300)
  if (old.stats?.isDirectory() !== true) return move()
  const own = fs.openSync(at(old.dir, old.name), directoryFlags)
  try {
    using _ = unlock(own, 0o200)
    move()
  } finally {
    fs.closeSync(own)
  }
}
