import { secretsOf } from '../../../domain/git/error-text.ts'
import type { RemoteUrl } from '../../../domain/git/url.ts'
import type { CloneProgress } from '../../../ports/repositories.ts'
import { run } from '../../../sys/processes/run.ts'
import { userEnvironment } from '../../../sys/git/environment.ts'
import { sourceFailure, type FailureContext } from '../../../sys/git/failures.ts'
import type { GitProgram } from '../../../sys/git/program.ts'
import { progressReader } from './progress.ts'

/** Runs git for a remote, as the user, who may have an agent and helpers; it asks nobody and has no terminal. */
export interface Remote {
  readonly url: string
  readonly about: FailureContext
  /** Answers what it printed. A failure is git's own, see `sourceFailure`. */
  ask(args: readonly string[], options?: AskOptions): Promise<string>
}

export interface AskOptions {
  /** Where it works: one of ours. None without it, whatever the directory that it is started in belongs to. */
  readonly repository?: string | undefined
  readonly input?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** How long it may say nothing. */
  readonly silentMs?: number | undefined
  readonly onProgress?: ((done: CloneProgress) => void) | undefined
}

export interface RemoteOptions {
  readonly git: GitProgram
  readonly url: RemoteUrl
  readonly avoid: readonly string[]
  readonly signal?: AbortSignal | undefined
}

export async function openRemote({ git, url, avoid, signal }: RemoteOptions): Promise<Remote> {
  const env = userEnvironment(url, await sshCommandOf(git, url, avoid, signal), avoid)
  return {
    url: url.clean,
    about: { url: url.clean, secrets: secretsOf(url) },
    async ask(args, { repository, input, signal, onProgress, silentMs = longestSilence } = {}) {
      const { stdout } = await run(git.path, args, {
        cwd: '/',
        env: { ...env, GIT_DIR: repository ?? '/nonexistent' },
        timeoutMs: longest,
        silentMs,
        maxOutput: 256 * 1024 * 1024,
        input,
        group: true,
        signal,
        onStderr: onProgress && progressReader(onProgress),
      })
      return stdout
    },
  }
}

const longest = 6 * 3_600_000
const longestSilence = 10 * 60_000

/** What the user has chosen to be run for ssh is run as it is. */
async function sshCommandOf(
  git: GitProgram,
  url: RemoteUrl,
  avoid: readonly string[],
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (process.env['GIT_SSH_COMMAND'] !== undefined) return process.env['GIT_SSH_COMMAND']
  const env = { ...userEnvironment(url, undefined, avoid), GIT_DIR: '/nonexistent' }
  try {
    const options = { cwd: '/', env, timeoutMs: 20_000, signal }
    return (await run(git.path, ['config', '--get', 'core.sshCommand'], options)).stdout.trim()
  } catch (error) {
    if (signal?.aborted) throw error
    return undefined
  }
}

/** Does it, and tells a failure of git as one of the source. */
export async function asSourceFailure<T>(about: FailureContext, act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw sourceFailure(error, about)
  }
}
