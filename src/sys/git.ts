import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { AwError } from '../domain/errors.ts'
import { hostFs } from './host-fs.ts'
import { findProgram, run } from './run.ts'

type GitInit = (directory: string, user: { name: string; email: string }, signal?: AbortSignal) => Promise<void>

/**
 * `git init` in a directory that only we have written to. Nothing of the user's or the machine's configuration, no
 * template and so no hook takes part; git is never run in a directory that an agent has had, and is itself none that an
 * agent can have written.
 *
 * The repository is named, not looked for: git then does not mind that the tree may belong to somebody else.
 * @param avoid directories in which agents work
 */
export function gitInitIn(avoid: readonly string[]): GitInit {
  let found: string | undefined
  return async (directory, user, signal) => {
    const program = (found ??= findProgram('git', avoid))
    if (program === undefined) throw notInstalled()
    const repository = join(directory, '.git')
    const env = environment(repository)
    const git = (...args: string[]) => run(program, args, { cwd: '/', env, timeoutMs: 30_000, signal })
    await git('init', '--quiet', '--template=', '--initial-branch=main')
    await git('config', '--file', join(repository, 'config'), 'user.name', user.name)
    await git('config', '--file', join(repository, 'config'), 'user.email', user.email)
    if (process.getuid?.() === 0) ownLike(directory, repository)
  }
}

function environment(repository: string): Record<string, string> {
  return {
    // What git needs besides itself it finds where it was installed.
    PATH: '/usr/local/bin:/usr/bin:/bin',
    LC_ALL: 'C',
    HOME: '/nonexistent',
    GIT_DIR: repository,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
  }
}

/** What root makes in a tree belongs to the tree's owner. Nobody else has seen the repository yet. */
function ownLike(directory: string, repository: string): void {
  const { uid, gid } = statSync(directory)
  if (uid === 0 && gid === 0) return
  const entries = readdirSync(repository, { recursive: true, withFileTypes: true })
  for (const { parentPath, name } of entries) hostFs.lchownSync(join(parentPath, name), uid, gid)
  hostFs.lchownSync(repository, uid, gid)
}

const notInstalled = (): AwError =>
  new AwError('aw_command_failed', 'git is not installed', {
    hint: 'Install git and try again',
    data: { exit_code: null, message: 'git is not installed', program: 'git' },
  })
