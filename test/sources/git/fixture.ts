import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A directory of its own for a test, with a home for the user that it plays. */
export interface Place extends AsyncDisposable {
  readonly base: string
  path(name: string): string
  /** A new directory; the n-th call makes another one. */
  empty(): string
  /** Settings of the user, as `git config --global` would write them. */
  configure(key: string, value: string): void
  /** Git as whoever made a repository would run it. */
  git(directory: string, ...args: string[]): string
  /** Called in turn when the place is left. */
  onLeave(end: () => unknown): void
}

const kept = ['HOME', 'XDG_CONFIG_HOME', 'GIT_SSL_CAINFO', 'SSH_AUTH_SOCK', 'GIT_CONFIG_NOSYSTEM', 'GIT_SSH_COMMAND']

export function makePlace(): Place {
  const base = fs.mkdtempSync(join(tmpdir(), 'aw-git-'))
  // Others have to get in, where a test plays them.
  fs.chmodSync(base, 0o755)
  const before = kept.map((name) => [name, process.env[name]] as const)
  const ends: (() => unknown)[] = []
  const home = join(base, 'home')
  fs.mkdirSync(home)
  for (const name of kept) delete process.env[name]
  Object.assign(process.env, { HOME: home, GIT_CONFIG_NOSYSTEM: '1' })
  let made = 0
  const git = (directory: string, ...args: string[]): string =>
    execFileSync('git', ['-C', directory, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...makerEnvironment, HOME: join(base, 'maker') },
    }).trim()
  return {
    base,
    path: (name) => join(base, name),
    empty() {
      const path = join(base, `empty-${++made}`)
      fs.mkdirSync(path)
      return path
    },
    configure: (key, value) => void git(base, 'config', '--file', join(home, '.gitconfig'), '--add', key, value),
    git,
    onLeave: (end) => void ends.unshift(end),
    async [Symbol.asyncDispose]() {
      for (const end of ends) await end()
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name]
        else process.env[name] = value
      }
      fs.rmSync(base, { recursive: true, force: true })
    },
  }
}

const makerEnvironment = {
  PATH: process.env['PATH'] ?? '',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'A',
  GIT_AUTHOR_EMAIL: 'a@example.com',
  GIT_COMMITTER_NAME: 'A',
  GIT_COMMITTER_EMAIL: 'a@example.com',
}

export type Files = Readonly<Record<string, string>>

/** A repository with one commit for each set of files, on `main`. */
export function makeSource(place: Place, name: string, ...commits: readonly Files[]): string {
  const path = place.path(name)
  fs.mkdirSync(path, { recursive: true })
  place.git(path, 'init', '--quiet', '--initial-branch=main')
  for (const [index, files] of commits.entries()) addCommit(place, path, files, `commit ${index + 1}`)
  return path
}

export function addCommit(place: Place, path: string, files: Files, message: string): string {
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(join(path, name, '..'), { recursive: true })
    fs.writeFileSync(join(path, name), content)
  }
  place.git(path, 'add', '--all')
  place.git(path, 'commit', '--quiet', '--allow-empty', '-m', message)
  return place.git(path, 'rev-parse', 'HEAD')
}

/** A commit whose tree is written as it is, also with names that git would not take. */
export function commitOfTree(place: Place, path: string, entries: readonly TreeEntry[]): string {
  const blob = (content: string): string =>
    execFileSync('git', ['-C', path, 'hash-object', '-w', '--stdin'], { input: content, encoding: 'utf8' }).trim()
  const body = Buffer.concat(
    entries.map(({ mode, name, content, id }) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id ?? blob(content ?? ''), 'hex')]),
    ),
  )
  const args = ['-C', path, 'hash-object', '-w', '-t', 'tree', '--literally', '--stdin']
  const tree = execFileSync('git', args, { input: body, encoding: 'utf8' }).trim()
  const commit = place.git(path, 'commit-tree', tree, '-m', 'odd')
  place.git(path, 'update-ref', 'refs/heads/main', commit)
  return commit
}

export interface TreeEntry {
  readonly mode: '100644' | '100755' | '120000' | '40000' | '160000'
  readonly name: string
  readonly content?: string
  readonly id?: string
}

/** What is in a directory, without repositories: names and contents. */
export function treeIn(directory: string): Record<string, string> {
  const names = fs.readdirSync(directory, { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => !/^\.git(?:\/|$)/.test(name)).toSorted()
  return Object.fromEntries(
    files.flatMap((name) => {
      const stat = fs.lstatSync(join(directory, name))
      if (stat.isDirectory()) return []
      return [
        [
          name,
          stat.isSymbolicLink()
            ? `-> ${fs.readlinkSync(join(directory, name))}`
            : fs.readFileSync(join(directory, name), 'utf8'),
        ],
      ]
    }),
  )
}
