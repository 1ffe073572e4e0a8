import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { compete } from './row.ts'
import { openShell, type Shell } from './shell.ts'
import { burst, changeTen, changeTenAllOver, git, gitWords, type SourceTree } from './storage-tree.ts'

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
  await using shell = openShell(folder)
  return { ...(await copies(shell, folder, source, options)), ...(await states(shell, folder, source, options)) }
}

/** `rm -rf` is what clears each copy away, so it is measured on the way. */
async function copies(shell: Shell, folder: string, { tree, archive }: SourceTree, { rounds, reflink }: Options) {
  const run = (...argv: string[]): Promise<void> => shell.run(argv)
  const shared = join(reflink, 'source')
  await run('cp', '-a', tree, shared)
  const target = join(folder, 'copy')
  const onReflink = join(reflink, 'copy')
  const gone = (path: string): void => rmSync(path, { recursive: true, force: true })
  const fresh = (timed: () => Promise<void>) => ({ before: () => [target, onReflink].forEach(gone), timed })
  const times = await compete(rounds, {
    'cp -a': fresh(() => run('cp', '-a', tree, target)),
    'cp -a --reflink': fresh(() => run('cp', '-a', '--reflink=always', shared, onReflink)),
    'tar -x': fresh(() => {
      mkdirSync(target)
      return run('tar', '-C', target, '-xf', archive)
    }),
    'git worktree add': {
      before: () => {
        gone(target)
        git(tree, 'worktree', 'prune')
      },
      timed: () => shell.run(gitWords(tree, 'worktree', 'add', '--quiet', '--detach', target)),
    },
    'git clone --depth 1': fresh(() => run('git', 'clone', '--quiet', '--depth', '1', `file://${tree}`, target)),
    'rm -rf': {
      before: async () => {
        if (!existsSync(target)) await run('cp', '-a', tree, target)
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
async function privately({ run }: Shell, folder: string, name: string, tree: string) {
  const work = join(folder, name)
  const repository = `${work}-private`
  await run(['cp', '-a', tree, work])
  rmSync(join(work, '.git'), { recursive: true, force: true })
  const own = ['--git-dir', repository, '--work-tree', work]
  await run(['git', 'init', '--quiet', '--bare', repository])
  await run(['git', '--git-dir', repository, 'config', 'core.bare', 'false'])
  const git = (...args: string[]): Promise<void> => run(gitWords(work, ...own, ...args))
  const one = {
    work,
    commit: async (): Promise<void> => {
      await git('add', '--all')
      await git('commit', '--quiet', '--allow-empty', '--message', 'turn')
    },
    clean: async (): Promise<void> => {
      await git('reset', '--quiet', '--hard')
      await git('clean', '--quiet', '-fdx')
    },
    status: () => git('status', '--porcelain'),
    [Symbol.dispose]() {
      for (const path of [work, repository]) rmSync(path, { recursive: true, force: true })
    },
  }
  await one.commit()
  return one
}

async function states(shell: Shell, folder: string, { tree, files }: SourceTree, { rounds }: Options) {
  using quiet = await privately(shell, folder, 'git-work', tree)
  using busy = await privately(shell, folder, 'git-busy', tree)
  const change = (): void => changeTen(quiet.work, files)
  const times = await compete(rounds, {
    commit: { before: change, timed: quiet.commit },
    commitAllOver: { before: () => changeTenAllOver(quiet.work, files), timed: quiet.commit },
    commitBurst: { before: (round) => burst(busy.work, round), timed: busy.commit },
    reset: {
      before: async () => {
        await quiet.clean()
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
