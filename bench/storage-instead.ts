import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { compete } from './row.ts'
import { burst, changeTen, changeTenAllOver, git, type SourceTree } from './storage-tree.ts'

/** What a user would run instead, in milliseconds, by the command. */
export interface Instead {
  readonly copy: Readonly<Record<string, number>>
  readonly commit: Readonly<Record<string, number>>
  readonly commitAllOver: Readonly<Record<string, number>>
  readonly commitBurst: Readonly<Record<string, number>>
  readonly reset: Readonly<Record<string, number>>
  readonly status: Readonly<Record<string, number>>
  readonly remove: Readonly<Record<string, number>>
}

export const bestOf = (times: Readonly<Record<string, number>>): [string, number] =>
  Object.entries(times).toSorted(([, a], [, b]) => a - b)[0] ?? ['nothing', Number.NaN]

interface Options {
  readonly rounds: number
  /** A directory on a file system that shares blocks. */
  readonly reflink: string
}

export async function measureInstead(folder: string, source: SourceTree, options: Options): Promise<Instead> {
  return { ...(await copies(folder, source, options)), ...(await states(folder, source, options)) }
}

const run = (...argv: readonly string[]): void =>
  void execFileSync(argv[0] ?? '', argv.slice(1), { stdio: ['ignore', 'ignore', 'pipe'] })

/** `rm -rf` is what clears each copy away, so it is measured on the way. */
async function copies(folder: string, { tree, archive }: SourceTree, { rounds, reflink }: Options) {
  const shared = join(reflink, 'source')
  run('cp', '-a', tree, shared)
  const target = join(folder, 'copy')
  const onReflink = join(reflink, 'copy')
  const gone = (path: string): void => rmSync(path, { recursive: true, force: true })
  const fresh = (timed: () => void) => ({ before: () => [target, onReflink].forEach(gone), timed })
  const times = await compete(rounds, {
    'cp -a': fresh(() => run('cp', '-a', tree, target)),
    'cp -a --reflink': fresh(() => run('cp', '-a', '--reflink=always', shared, onReflink)),
    'tar -x': fresh(() => {
      mkdirSync(target)
      run('tar', '-C', target, '-xf', archive)
    }),
    'git worktree add': {
      before: () => {
        gone(target)
        git(tree, 'worktree', 'prune')
      },
      timed: () => git(tree, 'worktree', 'add', '--quiet', '--detach', target),
    },
    'git clone --depth 1': fresh(() => run('git', 'clone', '--quiet', '--depth', '1', `file://${tree}`, target)),
    'rm -rf': {
      before: () => {
        if (!existsSync(target)) run('cp', '-a', tree, target)
      },
      timed: () => run('rm', '-rf', target),
    },
  })
  for (const path of [target, onReflink, shared]) gone(path)
  git(tree, 'worktree', 'prune')
  const { 'rm -rf': remove, ...copy } = times
  return { copy, remove: { 'rm -rf': remove } }
}

/** A copy of the tree, with a private repository beside it, as tools that snapshot by git do it. */
function privately(folder: string, name: string, tree: string) {
  const work = join(folder, name)
  const repository = `${work}-private`
  run('cp', '-a', tree, work)
  rmSync(join(work, '.git'), { recursive: true, force: true })
  const own = ['--git-dir', repository, '--work-tree', work]
  run('git', 'init', '--quiet', '--bare', repository)
  run('git', '--git-dir', repository, 'config', 'core.bare', 'false')
  const one = {
    work,
    commit: (): void => {
      git(work, ...own, 'add', '--all')
      git(work, ...own, 'commit', '--quiet', '--allow-empty', '--message', 'turn')
    },
    clean: (): void => {
      git(work, ...own, 'reset', '--quiet', '--hard')
      git(work, ...own, 'clean', '--quiet', '-fdx')
    },
    status: () => git(work, ...own, 'status', '--porcelain'),
    [Symbol.dispose]() {
      for (const path of [work, repository]) rmSync(path, { recursive: true, force: true })
    },
  }
  one.commit()
  return one
}

async function states(folder: string, { tree, files }: SourceTree, { rounds }: Options) {
  using quiet = privately(folder, 'git-work', tree)
  using busy = privately(folder, 'git-busy', tree)
  const change = (): void => changeTen(quiet.work, files)
  const times = await compete(rounds, {
    commit: { before: change, timed: quiet.commit },
    commitAllOver: { before: () => changeTenAllOver(quiet.work, files), timed: quiet.commit },
    commitBurst: { before: (round) => burst(busy.work, round), timed: busy.commit },
    reset: {
      before: () => {
        quiet.clean()
        change()
      },
      timed: quiet.clean,
    },
    status: { before: change, timed: quiet.status },
  })
  return {
    commit: { 'git add -A && commit': times.commit },
    commitAllOver: { 'git add -A && commit': times.commitAllOver },
    commitBurst: { 'git add -A && commit': times.commitBurst },
    reset: { 'git reset --hard && clean': times.reset },
    status: { 'git status': times.status },
  }
}
