import { AwError } from '../../../domain/errors.ts'
import { hasQuota, limitGrowth } from './kernel/quota.ts'
import { makeSubvolume, snapshotSubvolume, withSubvolume } from './kernel/subvolume.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { moveTree } from '../root/root.ts'
import type { Work } from './work.ts'

/** Takes several steps, so it appears at its place when it is whole. Durable when it resolves. */
export async function buildTree(
  work: Work,
  path: string,
  build: (unfinished: string) => Promise<void> | void,
): Promise<void> {
  const unfinished = work.fresh()
  try {
    await build(unfinished)
    await moveTree(unfinished, path)
  } catch (error) {
    work.discard(unfinished)
    throw error
  }
}

interface Top {
  readonly mode: number
  /** As user and group, if not this process's. */
  readonly owner?: number | undefined
}

export function makeEmpty(path: string, { mode, owner }: Top): void {
  makeSubvolume(path)
  if (owner !== undefined) hostFs.lchownSync(path, owner, owner)
  // The process's umask may have taken bits away.
  hostFs.chmodSync(path, mode)
}

/** @param from what it is a copy of; else it is empty and looks so */
export async function makeLimited(path: string, from: string | Top, maxBytes: number): Promise<void> {
  if (typeof from !== 'string') makeEmpty(path, from)
  else await snapshotSubvolume(from, path, { readOnly: false })
  withSubvolume(path, (fd) => limitGrowth(fd, maxBytes))
}

/** Only root can set limits, and only where the file system counts. False also if the root is not mounted. */
export function canLimit(root: string): boolean {
  try {
    return process.getuid?.() === 0 && withSubvolume(root, hasQuota)
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTTY')) return false
    throw error
  }
}

export function assertLimits(root: string): void {
  if (canLimit(root)) return
  const isRoot = process.getuid?.() === 0
  throw new AwError('unsupported', 'The size of a workspace cannot be limited by the kernel here', {
    hint: isRoot ? 'Switch quotas on, as root: btrfs quota enable --simple <mount>' : 'Only root can set such limits',
    data: { root },
  })
}
