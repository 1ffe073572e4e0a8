import { closeSync, readFileSync } from 'node:fs'
import { AwError } from '../../../domain/errors.ts'
import { canonical } from '../../../sys/fs/canonical.ts'
import { counted } from '../../../sys/fs/crash-points.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { isInUse, mountPath, mounts } from '../../../sys/fs/mounts.ts'
import { FSCONFIG, MOUNT, native, nativeHint, nativeProblem } from '../../../sys/syscalls/native.ts'

/** Mounting a btrfs, for those who may. What is mounted where is read from the kernel each time, never remembered. */

export interface Mounted {
  /** What the kernel calls the file system: `btrfs`, `overlay` … */
  readonly type: string
  /** The device, where there is one. */
  readonly source: string
}

/** What is mounted right at a path, the uppermost if there are several; undefined if nothing is. */
export function mountedAt(path: string): Mounted | undefined {
  const wanted = canonical(path)
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n')
  return lines
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ')
      const [type = '', source = ''] = after.split(' ')
      return { point: unescaped(before.split(' ')[4] ?? ''), type, source: unescaped(source) }
    })
    .findLast(({ point }) => point === wanted)
}

const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCodePoint(Number.parseInt(octal, 8)))

/**
 * Mounts the btrfs of a device on a directory, named by a descriptor so that nothing can be put in its place meanwhile.
 * Freed blocks are given back; programs in it get nobody's rights and its devices are none; its owner may remove his
 * subvolumes. `prepare` is called with a path to its root that only this process has, before it is seen by others.
 */
export function mountBtrfs(device: string, directory: number, prepare: (root: string) => void): void {
  const mount = kernel.btrfs(device)
  try {
    prepare(mountPath(mount))
    mounts.attach(mount, mountPath(directory))
  } finally {
    closeSync(mount)
  }
}

/** Absent = done. `workspace_active` while somebody is in it. */
export function unmount(path: string): void {
  try {
    mounts.unmount(path)
  } catch (error) {
    if (hasCode(error, 'EINVAL', 'ENOENT')) return
    if (!isInUse(error)) throw error
    throw new AwError('workspace_active', `${path} is still in use by a process`, {
      hint: `See which with: fuser -vm ${path}`,
      data: { path },
      cause: error,
    })
  }
}

const kernel = counted({
  btrfs(device: string): number {
    const calls = native()
    if (calls === undefined)
      throw new AwError('unsupported', `Mounting needs system calls that are missing here: ${nativeProblem()}`, {
        hint: nativeHint,
      })
    const context = calls.fsopen('btrfs')
    try {
      calls.fsconfig(context, FSCONFIG.STRING, 'source', device)
      calls.fsconfig(context, FSCONFIG.STRING, 'discard', 'async')
      calls.fsconfig(context, FSCONFIG.FLAG, 'user_subvol_rm_allowed', null)
      calls.fsconfig(context, FSCONFIG.CREATE, null, null)
      return calls.fsmount(context, MOUNT.NOATIME | MOUNT.NOSUID | MOUNT.NODEV)
    } finally {
      closeSync(context)
    }
  },
})
