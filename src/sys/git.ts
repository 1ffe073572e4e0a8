import { join } from 'node:path'
import { AwError } from '../domain/errors.ts'
import { hardened } from './git/environment.ts'
import { ownAllLike } from './own-like.ts'
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
    const env = hardened(repository)
    const git = (...args: string[]) => run(program, args, { cwd: '/', env, timeoutMs: 30_000, signal })
    await git('init', '--quiet', '--template=', '--initial-branch=main')
    await git('config', '--file', join(repository, 'config'), 'user.name', user.name)
    await git('config', '--file', join(repository, 'config'), 'user.email', user.email)
    ownAllLike(directory, repository)
  }
}

const notInstalled = (): AwError =>
  new AwError('aw_command_failed', 'git is not installed', {
    hint: 'Install git and try again',
    data: { exit_code: null, message: 'git is not installed', program: 'git' },
  })
