import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import {
  commit,
  destroySubvolume,
  exchangeSubvolumes,
  makeSubvolume,
  snapshotSubvolume,
} from '../src/drivers/storage/btrfs/kernel/subvolume.ts'
import { syncFileSystem } from '../src/sys/fs/mounts.ts'
import { btrfsCleaned } from './btrfs-cleaned.ts'
import { openHandLog } from './hand-log.ts'
import { compete, type often } from './row.ts'
import { changeTen, type SourceTree } from './storage-tree.ts'

/**
 * What btrfs alone takes for each, in milliseconds: the calls that nobody can leave out, without a log, a lock or anything
 * that tells what was done. No manager of workspaces is quicker on it. Those that are `Logged` are between two lines of a
 * log on another disk.
 */
export type Kernel = Readonly<
  Record<'fork' | 'forkLogged' | 'snapshot' | 'snapshotLogged' | 'restore' | 'restoreQuiet' | 'diff', number>
>

interface Places {
  readonly btrfs: string
  /** Where the log is. */
  readonly home: string
}

export async function measureBtrfsKernel(
  { btrfs, home }: Places,
  source: SourceTree,
  { rounds, warmUp }: typeof often,
): Promise<Kernel> {
  const folder = join(btrfs, 'kernel')
  const [tree, frozen, other] = ['tree', 'frozen', 'other'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  mkdirSync(folder)
  makeSubvolume(tree)
  execFileSync('cp', ['-a', `${source.tree}/.`, tree])
  await snapshotSubvolume(tree, frozen, { readOnly: true })
  const settle = (): void => syncFileSystem(folder)
  const change = (): void => changeTen(tree, source.files)
  const made: string[] = []
  const named = (name: string): string => {
    made.push(join(folder, name))
    return join(folder, name)
  }
  const restore = async (name: string): Promise<void> => {
    await snapshotSubvolume(frozen, other, { readOnly: false })
    exchangeSubvolumes(tree, other)
    await snapshotSubvolume(other, named(name), { readOnly: true })
  }
  const changed = (): void => {
    destroySubvolume(other)
    settle()
    change()
  }
  /** Everything is shared with a snapshot again, as it is whenever somebody takes one after the other. */
  const changedSince = async (name: string): Promise<void> => {
    await snapshotSubvolume(tree, named(name), { readOnly: true })
    change()
  }
  /** As for ours: no more than a user keeps. */
  const tidy = async (): Promise<void> => {
    for (const path of made.splice(0, made.length - kept)) destroySubvolume(path)
    await btrfsCleaned(folder)
    settle()
  }
  using log = openHandLog(join(home, 'by-hand.db'))
  const logged = async (act: () => Promise<void>): Promise<void> => {
    await log.line()
    await act()
    await log.line()
  }
  const { tidy: _, ...times } = await compete(
    rounds,
    {
      fork: {
        before: settle,
        timed: (round) => snapshotSubvolume(frozen, named(`fork-${round}`), { readOnly: false }),
      },
      forkLogged: {
        before: settle,
        timed: (round) => logged(() => snapshotSubvolume(frozen, named(`fork-logged-${round}`), { readOnly: false })),
      },
      snapshot: {
        before: (round) => changedSince(`prior-${round}`),
        timed: (round) => snapshotSubvolume(tree, named(`one-${round}`), { readOnly: true }),
      },
      snapshotLogged: {
        before: (round) => changedSince(`prior-logged-${round}`),
        timed: (round) => logged(() => snapshotSubvolume(tree, named(`one-logged-${round}`), { readOnly: true })),
      },
      restore: { before: changed, timed: (round) => restore(`kept-${round}`) },
      restoreQuiet: {
        before: () => {
          changed()
          settle()
        },
        timed: (round) => restore(`quiet-${round}`),
      },
      diff: { before: (round) => changedSince(`before-${round}`), timed: () => commit(tree) },
      tidy: { before: tidy, timed: () => undefined },
    },
    warmUp,
  )
  for (const path of [tree, frozen, other, ...made]) destroySubvolume(path)
  rmSync(folder, { recursive: true })
  return times
}

const kept = 10
