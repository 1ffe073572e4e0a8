import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'

/** Git as a user runs it, with nobody's settings. */
export function git(
  cwd: string,
  args: readonly string[],
  options: { input?: string | Buffer; fails?: boolean } = {},
): string {
  return gitBytes(cwd, args, options).toString().trim()
}

export function gitBytes(cwd: string, args: readonly string[], options: { input?: string | Buffer } = {}): Buffer {
  const settings = ['user.name=test', 'user.email=test@localhost', 'init.defaultBranch=main', 'safe.directory=*']
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1' }
  const all = [...settings.flatMap((setting) => ['-c', setting]), ...args]
  return execFileSync('git', all, { cwd, env, stdio: 'pipe', maxBuffer: 2 ** 28, input: options.input ?? '' })
}

/** All that is committed: mode, id and path of each file. */
export const listing = (repository: string, commit: string): string[] =>
  git(repository, ['ls-tree', '-r', '-z', '--full-tree', commit])
    .split('\0')
    .filter((line) => line !== '')

/** The tree that git makes of the files that are there, as they are. */
export function treeHere(folder: string, ...more: string[]): string {
  git(folder, ['add', '--all', ...more, '.'])
  return git(folder, ['write-tree'])
}

/** Everything of a repository that an export must leave alone, and the refs. */
export function stateOf(repository: string): { refs: string[]; rest: Record<string, string> } {
  const refs = git(repository, ['for-each-ref', '--format=%(refname) %(objectname)']).split('\n')
  const rest: Record<string, string> = {}
  const look = (directory: string): void => {
    for (const entry of fs.readdirSync(join(repository, directory), { withFileTypes: true })) {
      const path = join(directory, entry.name)
      if (/^\.git\/(objects|refs\/heads|packed-refs|logs\/refs\/heads)/.test(path)) continue
      if (entry.isDirectory()) look(path)
      else rest[path] = entry.isFile() ? fs.readFileSync(join(repository, path), 'latin1') : 'other'
    }
  }
  look('.')
  return { refs, rest }
}

export interface Random {
  readonly seed: number
  /** A whole number from 0 on. */
  below(end: number): number
  from<T>(items: readonly T[]): T
}

/** The same numbers again with AW_SEED. */
export function seeded(): Random {
  const seed = Number(process.env['AW_SEED'] ?? Date.now() % 1_000_000)
  let state = seed
  const below = (end: number): number => {
    state = (Math.imul(state ^ (state >>> 15), state | 1) + 0x6d2b79f5) | 0
    const mixed = state ^ (state + Math.imul(state ^ (state >>> 7), state | 61))
    return ((mixed ^ (mixed >>> 14)) >>> 0) % end
  }
  return { seed, below, from: (items) => items[below(items.length)] as (typeof items)[number] }
}
