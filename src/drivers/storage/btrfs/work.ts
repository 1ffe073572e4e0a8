import { join } from 'node:path'
import type { Erased } from '../../../sys/btrfs-lineage.ts'
import { destroySubvolume, infoAt, removeSubvolume, snapshotSubvolume } from '../../../sys/btrfs-subvolume.ts'
import { hasCode } from '../../../sys/errno.ts'
import { hostFs } from '../../../sys/host-fs.ts'
import { published } from '../../../sys/links.ts'
import { listAreas, moveTree } from '../../../sys/storage-root.ts'

/**
 * A directory of the driver's own, for trees that are no places: what is being made, a copy to look at, what is on its
 * way out. A crash leaves them there; nobody waits for them, and whoever erases something next takes them along. Those
 * of a restore are not touched: they are its state.
 */
export interface Work extends AsyncDisposable {
  /** Where a restore of this volume keeps its other tree. */
  readonly restoring: (volume: string) => string
  /** A name nobody has. */
  readonly fresh: () => string
  /** Calls with a snapshot that is gone afterwards. */
  readonly withSnapshot: <T>(source: string, readOnly: boolean, use: (path: string) => Promise<T>) => Promise<T>
  /** Notes what a tree was made from that is about to go: what was frozen of it is compared by way of it. */
  readonly remember: (path: string) => void
  readonly erased: Erased
  /** Takes a tree out of sight at once; the rest goes on by itself where that takes long. */
  readonly discard: (path: string) => void
  /** Removes what others have left. */
  readonly sweep: (signal?: AbortSignal) => Promise<void>
}

export const workDirectory = 'work'

/** A copy that somebody still looks at may be this old: a day. */
const oldest = 24 * 3600 * 1000

const lineagePrefix = 'lineage.'
const restorePrefix = 'restore.'
const discardPrefix = 'discarded.'

export function openWork(root: string): Work {
  const base = join(root, workDirectory)
  const stopped = new AbortController()
  const running = new Set<Promise<void>>()
  let count = 0
  const fresh = (): string => join(base, `${Date.now()}.${process.pid}.${++count}`)

  const isLeft = (name: string): boolean =>
    name.startsWith(discardPrefix) || (/^\d+\./.test(name) && Number.parseInt(name, 10) < Date.now() - oldest)

  return {
    restoring: (volume) => join(base, `${restorePrefix}${volume}`),
    fresh,
    async withSnapshot(source, readOnly, use) {
      const path = fresh()
      snapshotSubvolume(source, path, { readOnly })
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
      const gone = join(base, `${discardPrefix}${Date.now()}.${process.pid}.${++count}`)
      if (!moveTree(path, gone)) return
      const removal = removeSubvolume(gone, { signal: stopped.signal })
        // Whatever is in the way, it is in the way of the next sweep too, whose caller is told.
        .catch(() => undefined)
        .finally(() => running.delete(removal))
      running.add(removal)
    },
    async sweep(signal) {
      const left = listAreas(root, [workDirectory]).filter(({ name }) => isLeft(name))
      for (const { name } of left) await removeSubvolume(join(base, name), { signal })
    },
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await Promise.all(running)
    },
  }
}
