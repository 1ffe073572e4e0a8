import * as fs from 'node:fs'
import type { FileInfo, PathOptions, UnlockOptions } from '../../../ports/files.ts'
import { hostFs } from '../../fs/host-fs.ts'
import { unlock } from '../../trees/unlock.ts'
import { at, directoryFlags } from '../descriptors.ts'
import { refusal, translatingErrors } from '../errors.ts'
import { resolvedEntryInfo } from '../read/info.ts'
import { parseRequest } from '../request.ts'
import type { Root } from '../root.ts'
import type { ResolvedEntry } from '../resolved-entry.ts'
import { withResolvedEntry } from '../walk.ts'

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
  options: PathOptions & UnlockOptions & { replace?: boolean; parents?: boolean } = {},
): FileInfo {
  const source = parseRequest(root, from, options, { root: false })
  const target = parseRequest(root, to, options, { root: false })
  const missing = options.parents ? 'make' : undefined
  return withResolvedEntry(root, source, { follow: false, change: true }, (old) => {
    if (!old.stats) throw refusal('file_not_found', from)
    if (old.name === '') throw refusal('invalid_path', from)
    // rename(2) lets a directory replace an empty one, which we never do.
    const mayReplace = options.replace && !old.stats.isDirectory()
    const directory = target.directory && !old.stats.isDirectory()
    if (directory) throw refusal('not_a_directory', to)
    const asNamed = { ...target, directory: false }
    return withResolvedEntry(
      root,
      asNamed,
      { follow: false, change: true, missing, unlock: options.unlock },
      (entry) => {
        if (entry.name === '') throw refusal('file_exists', to)
        const move = mayReplace ? hostFs.renameSync : hostFs.renameNoReplaceSync
        const act = (): void => move(at(old.dir, old.name), at(entry.dir, entry.name))
        translatingErrors(to, () => (options.unlock ? unlocked(old, entry, act) : act()), meanings)
        const stats = translatingErrors(to, () => fs.lstatSync(at(entry.dir, entry.name)))
        return resolvedEntryInfo(root, target, entry, stats)
      },
    )
  })
}

/** A directory that gets another parent is written to as well. */
function unlocked(old: ResolvedEntry, entry: ResolvedEntry, move: () => void): void {
  using _from = unlock(old.dir, 0o300)
  using _to = unlock(entry.dir, 0o300)
  if (old.stats?.isDirectory() !== true) return move()
  const own = fs.openSync(at(old.dir, old.name), directoryFlags)
  try {
    using _ = unlock(own, 0o200)
    move()
  } finally {
    fs.closeSync(own)
  }
}
