/** The first and the second workspace from a repository and from a folder, against what one would run instead. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAw, type Aw } from '../src/index.ts'
import { syncFileSystem } from '../src/sys/fs/mounts.ts'
import { facts, mountBtrfs } from './place.ts'
import { compete, often, type Contestant, row, type Row } from './row.ts'
import { bestOf } from './storage-instead.ts'
import { clear, type DriverName, settingsOf } from './storage-ours.ts'
import { changeTen, git, makeSource, type SourceTree } from './storage-tree.ts'

interface Size {
  readonly files: number
  readonly rounds: number
}

const drivers: readonly DriverName[] = ['btrfs', 'overlay', 'dir']

export async function benchSources({ files, rounds }: Size): Promise<Row[]> {
  if (facts().journal !== 'yes')
    throw new Error('The baselines need a file system with a journal: run as root, or set AW_BENCH_DIR to one')
  const folder = mkdtempSync(join(tmpdir(), 'aw-bench-sources-'))
  // What is below goes with the file system, which is this run's own.
  using mounted = mountBtrfs(join(folder, 'btrfs'))
  const source = makeSource(join(folder, 'source'), files)
  const rows: Row[] = []
  for (const driver of drivers) {
    const home = join(folder, `home-${driver}`)
    const root = driver === 'btrfs' ? join(mounted.path, 'storage') : join(home, 'storage')
    {
      await using aw = await openAw({ home, set: settingsOf(driver, root) })
      // Where the plain tools would write if they were used instead.
      const there = driver === 'btrfs' ? mounted.path : folder
      rows.push(...(await measure(aw, driver, { folder, there }, source, rounds)))
    }
    await clear({ driver, home, root })
    rmSync(home, { recursive: true, force: true })
  }
  return rows
}

const run = (...argv: readonly string[]): void =>
  void execFileSync(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] })

interface Places {
  /** On ext4. */
  readonly folder: string
  /** On the file system of the driver. */
  readonly there: string
}

async function measure(
  aw: Aw,
  driver: DriverName,
  { folder, there }: Places,
  source: SourceTree,
  rounds: number,
): Promise<Row[]> {
  const { tree, files } = source
  const target = join(folder, 'target')
  const beside = join(there, 'beside')
  const kept = join(folder, 'kept')
  run('rsync', '-a', `${tree}/`, `${kept}/`)
  const gone = (path: string): void => rmSync(path, { recursive: true, force: true })
  const fresh = (timed: () => void) => ({ before: () => gone(target), timed })
  const change = (): void => changeTen(tree, files)
  let made = 0
  const create = (input: object) => (): Promise<unknown> => aw.create({ id: `made-${(made += 1)}`, ...input })
  const forget = async (): Promise<void> => {
    for (const { name } of await aw.bases.list()) await aw.bases.remove({ name, force: true })
  }
  const clone = (...flags: string[]) => fresh(() => run('git', 'clone', '--quiet', ...flags, `file://${tree}`, target))
  const onTheSame = {
    'git clone there': {
      before: () => gone(beside),
      timed: () => run('git', 'clone', '--quiet', `file://${tree}`, beside),
    },
    'git clone --depth 1 there': {
      before: () => gone(beside),
      timed: () => run('git', 'clone', '--quiet', '--depth', '1', `file://${tree}`, beside),
    },
    'cp -a there': { before: () => gone(beside), timed: () => run('cp', '-a', tree, beside) },
  }
  const settle = (): void => {
    for (const place of [folder, there]) syncFileSystem(place)
  }
  const contestants: Readonly<Record<string, Contestant>> = {
    ...(there === folder ? {} : onTheSame),
    gitFirst: { before: forget, timed: create({ repo: tree }) },
    gitFull: { before: forget, timed: create({ repo: tree, full: true }) },
    'git clone': clone(),
    'git clone --depth 1': clone('--depth', '1'),
    'git clone --reference': fresh(() =>
      run('git', 'clone', '--quiet', '--reference', tree, '--depth', '1', `file://${tree}`, target),
    ),
    'git worktree add': {
      before: () => {
        gone(target)
        git(tree, 'worktree', 'prune')
      },
      timed: () => git(tree, 'worktree', 'add', '--quiet', '--detach', target),
    },
    folderFirst: { before: forget, timed: create({ from: { folder: tree } }) },
    folderAgain: {
      before: async () => {
        await create({ from: { folder: tree } })()
        change()
      },
      timed: create({ from: { folder: tree } }),
    },
    'cp -a': fresh(() => run('cp', '-a', tree, target)),
    'rsync -a': fresh(() => run('rsync', '-a', `${tree}/`, `${target}/`)),
    'rsync -a, 10 changes': { before: change, timed: () => run('rsync', '-a', '--delete', `${tree}/`, `${kept}/`) },
  }
  const slow: Readonly<Record<string, number>> = await compete(rounds, contestants, undefined, settle)
  await create({ repo: tree })()
  const { rounds: count, warmUp } = rounds === 1 || driver === 'dir' ? { rounds, warmUp: undefined } : often
  const second = await compete(count, { gitSecond: create({ repo: tree }) }, warmUp, settle)
  const times = { ...slow, ...second }
  for (const path of [target, kept, beside]) gone(path)
  git(tree, 'worktree', 'prune')
  return rowsOf(driver, files, times)
}

function rowsOf(driver: DriverName, files: number, times: Readonly<Record<string, number>>): Row[] {
  const of = (...names: string[]) => Object.fromEntries(names.map((name) => [name, times[name] ?? Number.NaN]))
  const [secondName, second] = bestOf(
    of('git clone', 'git clone --depth 1', 'git clone --reference', 'git worktree add'),
  )
  const [copyName, copy] = bestOf(of('cp -a', 'rsync -a'))
  // On plain directories each workspace is a copy of its own, whoever makes it.
  const hasBases = driver !== 'dir'
  const against = (what: string, name: string, ours: string, baseline: number, goal: number | null): Row =>
    row(`${driver}, ${files} files: ${what}; ${name}`, times[ours] ?? Number.NaN, baseline, {
      goal,
      note: 'log durable',
    })
  // To write so many files takes longer on btrfs than on ext4, whoever does it: the goal is on the same file system.
  const first = (what: string, name: string, ours: string, baseline: number): Row[] => {
    const there = times[`${name} there`]
    if (there === undefined) return [against(what, name, ours, baseline, 1.2)]
    return [
      against(what, `${name} on ${driver} too`, ours, there, 1.2),
      against(what, `${name} on ext4`, ours, baseline, null),
    ]
  }
  return [
    ...first('first from git, shallow', 'git clone --depth 1', 'gitFirst', times['git clone --depth 1'] ?? 0),
    ...first('first from git, all of it', 'git clone', 'gitFull', times['git clone'] ?? 0),
    against('second from git', secondName, 'gitSecond', second, hasBases ? 1 / 100 : null),
    ...first('first from a folder', copyName, 'folderFirst', copy),
    against(
      'folder again, 10 files changed',
      'rsync -a',
      'folderAgain',
      times['rsync -a'] ?? 0,
      hasBases ? 1 / 5 : null,
    ),
    against(
      'folder again, 10 files changed',
      'rsync -a into an older copy',
      'folderAgain',
      times['rsync -a, 10 changes'] ?? 0,
      null,
    ),
  ]
}
