/** Fork, snapshot, restore, diff and destroy on every driver, against what one would run instead. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { facts, mountBtrfs } from './place.ts'
import { often, row, type Row } from './row.ts'
import { commandLine, commandRows } from './storage-cli.ts'
import { bestOf, measureInstead, type Instead } from './storage-instead.ts'
import { measureBtrfsKernel, type Kernel } from './storage-btrfs-kernel.ts'
import { measureOverlayKernel } from './storage-overlay-kernel.ts'
import { clear, measureOurs, type DriverName, type Ours } from './storage-ours.ts'
import { makeSource } from './storage-tree.ts'

export interface Size {
  /** Files of each tree, and how often each thing is done. */
  readonly trees: readonly { readonly files: number; readonly rounds: number }[]
  readonly drivers: readonly DriverName[]
}

/** At least so many times faster than the best alternative, by files. */
const goals: Readonly<Record<DriverName, Partial<Record<keyof Ours, Readonly<Record<number, number>>>>>> = {
  overlay: {
    fork: { 10_000: 200, 100_000: 1000 },
    diff: { 100_000: 40 },
    diffSnapshots: { 100_000: 40 },
  },
  btrfs: {
    fork: { 10_000: 100, 100_000: 1000 },
    snapshot: { 10_000: 8, 100_000: 50 },
    restore: { 10_000: 10, 100_000: 60 },
    restoreQuiet: { 10_000: 20, 100_000: 100 },
    diff: { 100_000: 15 },
    diffSnapshots: { 100_000: 40 },
  },
  dir: {},
}

const titles: Readonly<Record<keyof Ours, string>> = {
  createFrom: 'fork at a snapshot',
  fork: 'fork',
  snapshot: 'snapshot, 10 files changed',
  snapshotAllOver: 'snapshot, 10 files changed all over the tree',
  snapshotBurst: 'snapshot right after writing 1000 x 10 KB',
  restore: 'restore, 10 files changed',
  restoreQuiet: 'restore of a quiet tree, 10 files changed',
  diff: 'diff against now, 10 files changed',
  diffAllOver: 'diff against now, 10 files changed all over the tree',
  diffSnapshots: 'diff between snapshots, 10 files changed',
  destroy: 'visible destroy',
}

export async function benchStorage({ trees, drivers }: Size): Promise<Row[]> {
  const { journal } = facts()
  if (journal !== 'yes')
    throw new Error('The baselines need a file system with a journal: run as root, or set AW_BENCH_DIR to one')
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-storage-'))
  // What is below goes with the file system, which is this run's own.
  using mounted = mountBtrfs(join(folder, 'btrfs'))
  const btrfs = mounted.path
  await using cli = commandLine(folder)
  const rows: Row[] = []
  const measured = new Map<string, Ours>()
  for (const { files, rounds } of trees) {
    // As many of each as of ours: what was made before is there too, and makes a file system slower.
    const turns = rounds === 1 ? { rounds, warmUp: 1 } : often
    const source = makeSource(join(folder, `source-${files}`), files)
    const instead = await measureInstead(folder, source, { rounds, reflink: btrfs })
    for (const driver of drivers) {
      const home = join(folder, `home-${driver}-${files}`)
      const root = driver === 'btrfs' ? join(btrfs, `storage-${files}`) : join(home, 'storage')
      const ours = await measureOurs({ driver, home, root, source, rounds })
      measured.set(`${driver} ${files}`, ours)
      rows.push(...driverRows(driver, files, ours, instead))
      if (driver === 'btrfs')
        rows.push(...kernelRows(driver, files, await measureBtrfsKernel({ btrfs, home }, source, turns), instead))
      if (driver === 'overlay')
        rows.push(...kernelRows(driver, files, await measureOverlayKernel(folder, source, turns), instead))
      rows.push(...(await commandRows(cli, { driver, home, root, files, rounds, instead, source })))
      await clear({ driver, home, root })
      rmSync(home, { recursive: true, force: true })
    }
    rmSync(source.folder, { recursive: true, force: true })
  }
  return [...rows, ...flatRows(drivers, trees, measured)]
}

/** Each against the quickest of what one would run instead. */
function driverRows(driver: DriverName, files: number, ours: Ours, instead: Instead): Row[] {
  return (Object.keys(titles) as (keyof Ours)[]).map((what) => {
    const [name, best] = bestOf(instead[kinds[what]])
    const times = goals[driver][what]?.[files]
    const goal = times === undefined ? null : 1 / times
    return row(`${driver}, ${files} files: ${titles[what]}; ${name}`, ours[what], best, { goal, note: 'log durable' })
  })
}

/** What there is to be gained at all: the goals are the same, and nobody's to miss. */
function kernelRows(driver: 'btrfs' | 'overlay', files: number, kernel: Partial<Kernel>, instead: Instead): Row[] {
  return (Object.entries(kernel) as [keyof Kernel, number][]).map(([key, ms]) => {
    const isLogged = key.endsWith('Logged')
    const what = key.replace('Logged', '') as Exclude<keyof Kernel, `${string}Logged`>
    const [name, best] = bestOf(instead[kinds[what]])
    const times = goals[driver][what]?.[files]
    const log = isLogged ? 'two durable lines in a log' : 'no log'
    const note = times === undefined ? log : `${log}; ${times}x is asked of us`
    const title = isLogged ? `${titles[what]}, logged` : titles[what]
    return row(`${driver} itself, ${files} files: ${title}; ${name}`, ms, best, { goal: null, note })
  })
}

const kinds: Readonly<Record<keyof Ours, keyof Instead>> = {
  createFrom: 'copy',
  fork: 'copy',
  snapshot: 'commit',
  snapshotAllOver: 'commitAllOver',
  snapshotBurst: 'commitBurst',
  restore: 'reset',
  restoreQuiet: 'reset',
  diff: 'status',
  diffAllOver: 'status',
  diffSnapshots: 'status',
  destroy: 'remove',
}

/** What should not grow with the tree. */
function flatRows(drivers: Size['drivers'], trees: Size['trees'], measured: ReadonlyMap<string, Ours>): Row[] {
  const sizes = trees.map(({ files }) => files)
  const [small, large] = [Math.min(...sizes), Math.max(...sizes)]
  if (small === large) return []
  return drivers.flatMap((driver) => {
    const [few, many] = [measured.get(`${driver} ${small}`), measured.get(`${driver} ${large}`)]
    if (few === undefined || many === undefined) return []
    const flat = driver === 'dir' ? null : 2
    const about = (goal: number | null) => ({ goal, note: 'does not grow with the tree' })
    return [
      row(`${driver}: fork, ${large} files; ${small} files`, many.fork, few.fork, about(flat)),
      row(`${driver}: visible destroy, ${large} files; ${small} files`, many.destroy, few.destroy, about(2)),
      row(`${driver}: visible destroy, ${large} files; 3 ms`, many.destroy, 3, { goal: 1, note: 'an absolute goal' }),
    ]
  })
}
