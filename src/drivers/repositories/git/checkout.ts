import { join } from 'node:path'
import type { CloneProgress } from '../../../ports/repositories.ts'
import { run } from '../../../sys/processes/run.ts'
import { hardenedEnvironment, hardenedTreeEnvironment } from '../../../sys/git/environment.ts'
import type { GitProgram } from '../../../sys/git/program.ts'
import { progressReader } from './progress.ts'

/** Work by git on a repository that we have written, in a tree that nobody else can reach. Nothing of theirs runs. */

export interface GitWork {
  readonly git: GitProgram
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((done: CloneProgress) => void) | undefined
}

const hour = 3_600_000

/** Writes the files of a commit and the index. Filters are not configured, hooks are off, submodules stay empty. */
export async function checkOut(tree: string, commit: string, { git, signal, onProgress }: GitWork): Promise<void> {
  const env = hardenedTreeEnvironment(join(tree, '.git'), { GIT_WORK_TREE: tree })
  const onStderr = onProgress && progressReader(onProgress)
  const args = ['read-tree', ...(onProgress ? ['-v'] : []), '-m', '-u', '--end-of-options', commit]
  const options = { cwd: tree, env, timeoutMs: hour, signal, onStderr, group: true }
  await run(git.path, args, options)
}

/** The commit that an id leads to; undefined if there is none. */
export async function commitAt(
  repository: string,
  id: string,
  { git, signal }: GitWork,
  objects?: { readonly directory: string; readonly files: readonly number[] },
): Promise<string | undefined> {
  const env = hardenedEnvironment(repository, objects === undefined ? {} : { GIT_OBJECT_DIRECTORY: objects.directory })
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${id}^{commit}`]
  try {
    const { stdout } = await run(git.path, args, { cwd: '/', env, timeoutMs: hour, signal, files: objects?.files })
    return stdout.trim()
  } catch (error) {
    if (signal?.aborted) throw error
    return undefined
  }
}

/**
 * Makes a pack of one commit without its history, and of what else is named.
 * @param objects where git finds them; `files` are open files that it needs for that
 */
export async function packCommit(
  repository: string,
  commit: string,
  objects: { readonly directory: string; readonly files: readonly number[] },
  tags: readonly string[],
  { git, signal, onProgress }: GitWork,
): Promise<void> {
  const env = hardenedTreeEnvironment(repository, { GIT_OBJECT_DIRECTORY: objects.directory })
  const args = ['pack-objects', '--revs', '--delta-base-offset', onProgress ? '--progress' : '-q']
  const input = [`--shallow ${commit}`, commit, ...tags].map((line) => `${line}\n`).join('')
  const onStderr = onProgress && progressReader(onProgress)
  await run(git.path, [...args, join(repository, 'objects/pack/pack')], {
    cwd: '/',
    env,
    timeoutMs: hour,
    signal,
    input,
    files: objects.files,
    onStderr,
    group: true,
  })
}
