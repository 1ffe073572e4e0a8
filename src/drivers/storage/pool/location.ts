import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { canonical } from '../../../sys/fs/canonical.ts'
import { ensureDirectory } from '../../../sys/fs/directories.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import type { PoolLocation } from './pool.ts'
import { at, directoryFlags } from '../../../sys/safe-fs/descriptors.ts'

/** Where a pool is, or is to be. Root may also work in the home of another user, and must not be led astray there. */
export interface OpenPoolLocation extends PoolLocation, Disposable {
  /** Whether the home is this process's own. */
  readonly own: boolean
  readonly lock: string
}

export function openPoolLocation(home: string, root: string): OpenPoolLocation {
  const fd = openSync(canonical(home), directoryFlags)
  const { uid, gid, mode, dev, ino } = fstatSync(fd)
  const own = uid === (process.getuid?.() ?? 0)
  if (mode & 0o022 || !(own || process.getuid?.() === 0)) {
    closeSync(fd)
    throw new AwError('home_owner_mismatch', `The home ${home} belongs to uid ${uid}, or others may write to it`, {
      hint: `Run aw as uid ${uid} or as root; keep others out with: chmod go-w ${home}`,
      data: { path: home, owner: uid },
    })
  }
  return {
    home,
    inside: at(fd),
    root,
    owner: { uid, gid },
    own,
    // A lock file of root's would be in the way of the user's own processes.
    lock: own ? join(home, 'locks', 'storage') : `/run/aw-storage-${dev}-${ino}`,
    [Symbol.dispose]: () => closeSync(fd),
  }
}

/** Makes the storage root for the owner of the home, in a directory that is his as well. */
export function ensureRoot({ root, owner, own }: OpenPoolLocation): void {
  if (existsSync(root)) return
  const parent = dirname(root)
  if (own) ensureDirectory(parent, 0o700)
  const fd = openSync(parent, directoryFlags)
  try {
    if (!own && fstatSync(fd).uid !== owner.uid)
      throw new AwError('home_owner_mismatch', `${parent} does not belong to the owner of the home`, {
        hint: `Make ${root} for uid ${owner.uid} first`,
        data: { path: parent, owner: owner.uid },
      })
    const made = at(fd, basename(root))
    hostFs.mkdirSync(made, 0o700)
    hostFs.lchownSync(made, owner.uid, owner.gid)
  } finally {
    closeSync(fd)
  }
}
