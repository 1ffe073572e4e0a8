import { AwError } from '../../../domain/errors.ts'
import type { CreateOptions, Place } from '../../../ports/storage-driver.ts'
import { hasQuota, limitGrowth } from './kernel/quota.ts'
import { makeSubvolume, snapshotSubvolume, withSubvolume } from './kernel/subvolume.ts'
import { hasCode } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { moveTree } from '../root/root.ts'
import { type Context, unlessTaken } from './context.ts'
import type { WorkArea } from './work-area.ts'

/** A new subvolume: empty, or a writable snapshot of a frozen one. */
export async function createTree(
  { root, owner, trees, work }: Context,
  place: Place,
  { mode = 0o755, from, maxBytes }: CreateOptions,
): Promise<void> {
  trees.assertFree(place)
  const path = trees.path(place)
  const empty = { mode, owner }
  if (maxBytes !== undefined) {
    assertLimits(root)
    const source = from === undefined ? empty : trees.found(from)
    await buildTree(work, path, (unfinished) => makeLimited(unfinished, source, maxBytes))
  } else if (from === undefined) await buildTree(work, path, (unfinished) => makeEmpty(unfinished, empty))
  else {
    const source = trees.found(from)
    await unlessTaken(place, () => snapshotSubvolume(source, path, { readOnly: false }))
  }
}

/** Takes several steps, so it appears at its place when it is whole. Durable when it resolves. */
async function buildTree(
  work: WorkArea,
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

function makeEmpty(path: string, { mode, owner }: Top): void {
  makeSubvolume(path)
  if (owner !== undefined) hostFs.lchownSync(path, owner, owner)
  // The process's umask may have taken bits away.
  hostFs.chmodSync(path, mode)
}

/** @param from what it is a copy of; else it is empty and looks so */
async function makeLimited(path: string, from: string | Top, maxBytes: number): Promise<void> {
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
