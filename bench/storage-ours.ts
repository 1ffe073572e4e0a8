import { openAw, type Aw } from '../src/index.ts'
import { syncFileSystem } from '../src/sys/fs/mounts.ts'
import { btrfsCleaned } from './btrfs-cleaned.ts'
import { compete, often } from './row.ts'
import { burst, changeTen, changeTenAllOver, type SourceTree } from './storage-tree.ts'

export type DriverName = 'btrfs' | 'overlay' | 'dir'

/** Milliseconds by the library, the log's durability included. */
export interface Ours {
  readonly createFrom: number
  readonly fork: number
  readonly snapshot: number
  readonly snapshotAllOver: number
  readonly snapshotBurst: number
  readonly restore: number
  readonly restoreQuiet: number
  readonly diff: number
  readonly diffAllOver: number
  readonly diffSnapshots: number
  readonly destroy: number
}

interface Options {
  readonly driver: DriverName
  readonly home: string
  readonly root: string
  readonly source: SourceTree
  readonly rounds: number
}

export const settingsOf = (driver: DriverName, root: string): Record<string, string> => ({
  'storage.driver': driver,
  'storage.root': root,
  'snapshots.max': '0',
  'workspaces.profile': 'repo',
})

export async function measureOurs({ driver, home, root, source, ...given }: Options): Promise<Ours> {
  const { rounds, warmUp } = driver === 'dir' || given.rounds === 1 ? { ...given, warmUp: undefined } : often
  await using aw = await openAw({ home, set: settingsOf(driver, root) })
  await aw.create({ id: 'origin', from: { folder: source.tree } })
  const work = await aw.create({ id: 'work', from: { folder: source.tree } })
  // What is added in bursts, or changed all over, is in trees of their own: what the others measure is what their rows say.
  const busy = await aw.create({ id: 'busy', from: { folder: source.tree } })
  const spread = await aw.create({ id: 'spread', from: { folder: source.tree } })
  const start = await aw.snapshot('origin')
  for (const id of ['work', 'busy', 'spread']) await aw.snapshot(id)
  // Not by another process: starting one leaves this one to copy its own memory page by page.
  const settle = (): void => syncFileSystem(root)
  const change = (): void => changeTen(work.path, source.files)
  const changed = async (): Promise<void> => {
    await aw.snapshot('work')
    change()
  }
  const allOver = (): void => changeTenAllOver(spread.path, source.files)
  /** As many as are kept by default, and not all that were ever made: btrfs notes in each block who shares it. */
  const tidy = async (round: number): Promise<void> => {
    for (const id of ['work', 'busy', 'spread']) {
      const spare = (await aw.snapshots(id)).slice(0, -kept).map((one) => one.id)
      if (spare.length > 0) await aw.manager.call('snapshot remove', { id, snapshots: spare })
    }
    if (round > 0)
      for (const name of ['made', 'fork', 'gone'])
        await aw.destroy(`${name}-${round - 1}`, { purge: true, if_exists: true })
    await aw.gc({ older_than: '0s' })
    if (driver === 'btrfs') await btrfsCleaned(root)
    settle()
  }
  let before = start.id
  let after = start.id
  const { tidy: _, ...times } = await compete(
    rounds,
    {
      createFrom: { before: settle, timed: (round) => aw.fork('origin', { id: `made-${round}`, at: start.id }) },
      fork: { before: settle, timed: (round) => aw.fork('origin', { id: `fork-${round}` }) },
      snapshot: { before: change, timed: () => aw.snapshot('work') },
      snapshotAllOver: { before: allOver, timed: () => aw.snapshot('spread') },
      snapshotBurst: { before: (round) => burst(busy.path, round), timed: () => aw.snapshot('busy') },
      restore: { before: changed, timed: () => aw.restore('work', 'head') },
      restoreQuiet: {
        before: async () => {
          await changed()
          settle()
        },
        timed: () => aw.restore('work', 'head'),
      },
      diff: { before: changed, timed: () => drain(aw, 'work@head') },
      diffAllOver: {
        before: async () => {
          await aw.snapshot('spread')
          allOver()
        },
        timed: () => drain(aw, 'spread@head'),
      },
      diffSnapshots: {
        before: async () => {
          before = (await aw.snapshot('work')).id
          change()
          after = (await aw.snapshot('work')).id
        },
        timed: () => drain(aw, `work@${before}`, `work@${after}`),
      },
      destroy: {
        before: async (round) => {
          await aw.fork('origin', { id: `gone-${round}`, at: start.id })
          settle()
        },
        timed: (round) => aw.destroy(`gone-${round}`),
      },
      tidy: { before: tidy, timed: () => undefined },
    },
    warmUp,
  )
  return times
}

/** With those that a round makes, the 20 of `snapshots.max`. */
const kept = 10

/** Nothing stays mounted, so that the home can be removed. */
export async function clear({ driver, home, root }: Pick<Options, 'driver' | 'home' | 'root'>): Promise<void> {
  await using aw = await openAw({ home, set: settingsOf(driver, root) })
  for (const one of await aw.list()) await aw.destroy(one.id, { purge: true })
  await aw.gc({ older_than: '0s' })
}

/** What a diff tells, read to its end: the ten files that were changed, and nothing of what came before. */
async function drain(aw: Aw, from: string, to?: string): Promise<void> {
  let count = 0
  for await (const _ of aw.manager.stream('diff', to === undefined ? { from } : { from, to })) count += 1
  if (count !== 10) throw new Error(`The diff tells ${count} differences, not 10`)
}
