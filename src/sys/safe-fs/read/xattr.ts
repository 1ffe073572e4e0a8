import type * as fs from 'node:fs'
import { hostFs } from '../../fs/host-fs.ts'
import { native } from '../../syscalls/native.ts'
import { ignoreErrors } from '../../syscalls/errno.ts'

/**
 * Extended attributes, ACLs among them (`system.posix_acl_access` is one). Without system calls they cannot be read:
 * then a replaced file keeps owner and mode only.
 *
 * Capabilities and integrity hashes belong to the old content and are not carried over to new: the kernel drops them on
 * a write too. Those of overlay are not the user's, though they may look so: they change what a file system shows.
 */
const ofContent = new Set(['security.capability', 'security.ima', 'security.evm'])
/** What this process may not do, or the file system cannot. */
export const refused = ['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENODATA', 'EINVAL']

/** Makes those of `to` equal to those of `from`, as far as this process may. */
export function copyAttributes(from: number, to: number): void {
  const calls = native()
  if (!calls) return
  const [wanted, present] = [listed(from), listed(to)]
  for (const name of present) if (!wanted.includes(name)) attempt(() => hostFs.fremovexattrSync(to, name))
  for (const name of wanted) attempt(() => hostFs.fsetxattrSync(to, name, calls.fgetxattr(from, name)))

  function listed(fd: number): string[] {
    return (
      attempt(() =>
        calls?.flistxattr(fd).filter((name) => !ofContent.has(name) && !name.startsWith('user.overlay.')),
      ) ?? []
    )
  }
}

const attempt = <T>(call: () => T): T | undefined => ignoreErrors(refused, call)

/** The kernel's rule for a write by an ordinary user: content that changed is not run with its owner's rights. */
export function modeAfterWrite(mode: number): number {
  const groupRuns = (mode & 0o010) !== 0
  return mode & (groupRuns ? 0o1777 : 0o3777)
}

/** Owner, then attributes, then mode: a change of owner clears bits, an ACL brings its own, and a mode may forbid both. */
export function keepAttributes(old: { stats: fs.Stats; fd: number | undefined }, to: number): void {
  attempt(() => hostFs.fchownSync(to, old.stats.uid, old.stats.gid))
  if (old.fd !== undefined) copyAttributes(old.fd, to)
  hostFs.fchmodSync(to, modeAfterWrite(old.stats.mode))
}
