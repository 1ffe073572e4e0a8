import { run } from './run.ts'

/**
 * `git init` in a directory that only we have written to. Nothing of the user's or the machine's configuration, no
 * template and so no hook takes part; git is never run in a directory that an agent has had.
 */
export async function gitInit(
  directory: string,
  user: { name: string; email: string },
  signal?: AbortSignal,
): Promise<void> {
  const git = (...args: string[]) => run('git', args, { cwd: directory, env: environment(), timeoutMs: 30_000, signal })
  await git('init', '--quiet', '--template=', '--initial-branch=main', '.')
  await git('config', '--local', 'user.name', user.name)
  await git('config', '--local', 'user.email', user.email)
}

function environment(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/local/bin:/usr/bin:/bin',
    LC_ALL: 'C',
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_CEILING_DIRECTORIES: '/',
  }
}
