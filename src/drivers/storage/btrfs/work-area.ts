import { join } from 'node:path'
import type { ErasedOrigins } from './kernel/lineage.ts'
import { destroySubvolume, infoAt, removeSubvolume, snapshotSubvolume } from './kernel/subvolume.ts'
import { ensureDirectory, pathExists } from '../../../sys/fs/directories.ts'
import { hasCode, ignoreErrors } from '../../../sys/syscalls/errno.ts'
import { hostFs } from '../../../sys/fs/host-fs.ts'
import { published } from '../../../sys/fs/links.ts'
import { listAreas, renameTree } from '../root/root.ts'

/**
 * A directory of the driver's own, for trees that are no places: what is being made, a copy to look at, what is on its
 * way out. A crash leaves them there; nobody waits for them, and whoever erases something next takes them along. Those
 * of a restore are not touched: they are its state.
 */
export interface WorkArea extends AsyncDisposable {
  /** Where a restore of this volume keeps its other tree. */
  readonly restoring: (volume: string) => string
  /** A name nobody has. */
  readonly fresh: () => string
  /** Calls with a snapshot that is gone afterwards. */
  readonly withSnapshot: <T>(source: string, readOnly: boolean, use: (path: string) => Promise<T>) => Promise<T>
  /** Notes what a tree was made from that is about to go: what was frozen of it is compared by way of it. */
  readonly remember: (path: string) => void
  readonly erased: ErasedOrigins
  /** Takes a tree out of sight at once; the rest goes on by itself where that takes long. */
  readonly discard: (path: string) => void
  /**
   * Puts a tree aside, durable with the next commit. It is removed when nobody has done anything for a while, or by
   * whoever erases something next: the kernel takes it apart block by block, and every commit meanwhile waits for that.
   */
  readonly setAside: (path: string) => void
  /** Somebody does something. */
  readonly busy: () => void
  /** Removes what others have left. */
  readonly sweep: (signal?: AbortSignal) => Promise<void>
}

export const workDirectory = 'work'

/** The kernel keeps others out of a directory while it takes a tree in it apart: so these have one of their own. */
const asideDirectory = join(workDirectory, 'discarded')

/** A copy that somebody still looks at may be this old: a day. */
const oldest = 24 * 3600 * 1000

/** So long nobody has done anything, in milliseconds. */
const quietMs = 1000

/** More of them do not wait. What they hold is mostly others' too. */
const maxWaiting = 64

const lineagePrefix = 'lineage.'
const restorePrefix = 'restore.'

/** @param options.shortLived the program does one thing and ends: what takes long is left to others */
export function openWorkArea(root: string, { shortLived = false } = {}): WorkArea {
  const base = join(root, workDirectory)
  const stopped = new AbortController()
  const running = new Set<Promise<void>>()
  const waiting: string[] = []
  let timer: NodeJS.Timeout | undefined
  let count = 0
  const stamp = (): string => `${Date.now()}.${process.pid}.${++count}`
  const fresh = (): string => join(base, stamp())

  const aside = (): string => {
    ensureDirectory(join(root, asideDirectory), 0o700)
    return join(root, asideDirectory, stamp())
  }

  const remove = (path: string): void => {
    const removal = removeSubvolume(path, { signal: stopped.signal })
      // Whatever is in the way, it is in the way of the next sweep too, whose caller is told.
      .catch(() => undefined)
      .finally(() => running.delete(removal))
    running.add(removal)
  }

  const removeWaiting = (most: number): void => {
    for (const path of waiting.splice(0, waiting.length - most)) remove(path)
  }
  const busy = (): void => {
    if (timer !== undefined) timer.refresh()
    else if (waiting.length > 0) timer = setTimeout(whenQuiet, quietMs).unref()
  }
  const whenQuiet = (): void => {
    timer = undefined
    removeWaiting(0)
  }

  const isOld = (name: string): boolean => /^\d+\./.test(name) && Number.parseInt(name, 10) < Date.now() - oldest

  return {
    restoring: (volume) => join(base, `${restorePrefix}${volume}`),
    fresh,
    async withSnapshot(source, readOnly, use) {
      const path = fresh()
      await snapshotSubvolume(source, path, { readOnly })
      try {
        return await use(path)
      } finally {
        await removeSubvolume(path)
      }
    },
    remember(path) {
      // Only root can read the trees, and so only root compares by them.
      if (process.getuid?.() !== 0) return
      const { uuid, parentUuid, made } = infoAt(path)
      try {
        hostFs.symlinkSync(`${parentUuid}.${made}`, join(base, `${lineagePrefix}${uuid}`))
      } catch (error) {
        if (!hasCode(error, 'EEXIST')) throw error
      }
    },
    erased(uuid) {
      const [parentUuid, made] = published(join(base, `${lineagePrefix}${uuid}`))?.split('.') ?? []
      return parentUuid === undefined || made === undefined ? undefined : { parentUuid, made: BigInt(made) }
    },
    discard(path) {
      if (destroySubvolume(path)) return
      const gone = aside()
      if (ignoreErrors(['ENOENT'], () => (renameTree(path, gone), true))) remove(gone)
    },
    setAside(path) {
      const gone = aside()
      renameTree(path, gone)
      if (shortLived) return
      waiting.push(gone)
      removeWaiting(maxWaiting)
      busy()
    },
    busy,
    async sweep(signal) {
      const directories = [workDirectory, ...(pathExists(join(root, asideDirectory)) ? [asideDirectory] : [])]
      for (const { area, name } of listAreas(root, directories))
        if (area === asideDirectory || isOld(name)) await removeSubvolume(join(root, area, name), { signal })
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer)
      stopped.abort()
      await Promise.all(running)
    },
  }
}
