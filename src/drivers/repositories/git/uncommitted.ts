import { closeSync, existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { run } from '../../../sys/processes/run.ts'
import type { GitWork } from './checkout.ts'
import { hardenedEnvironment } from '../../../sys/git/environment.ts'
import { openLocal } from '../../../sys/git/local.ts'
import { emptyRepository } from './scratch.ts'

const timeoutMs = 2_000

interface Asked {
  readonly path: string
  /** What HEAD is. */
  readonly commit: string
  /** Where scratch repositories of ours are. */
  readonly scratch: string
}

/**
 * How many paths of a work tree are not as in a commit: changed, staged, removed, or new and not ignored. Git works in a
 * repository of ours, with the index and the objects of that one: nothing is written there, and none of its settings
 * takes part, so nothing that it names runs. Undefined if there is no work tree, or it cannot be told in a moment.
 */
export async function countUncommitted({ path, commit, scratch }: Asked, work: GitWork): Promise<number | undefined> {
  using source = openLocal(path)
  const index = existsSync(join(path, '.git')) ? source.git.open('index') : undefined
  if (index === undefined) return undefined
  try {
    const env = hardenedEnvironment(await emptyRepository(scratch, commit.length === 64), {
      GIT_WORK_TREE: path,
      GIT_OBJECT_DIRECTORY: '/proc/self/fd/3',
      GIT_INDEX_FILE: '/proc/self/fd/4',
      GIT_OPTIONAL_LOCKS: '0',
    })
    const files = [source.objects.fd, index]
    const ask = async (...args: string[]): Promise<string[]> => {
      const options = { cwd: path, env, timeoutMs, signal: work.signal, files }
      const { stdout } = await run(work.git.path, args, options)
      return stdout.split('\0').filter((name) => name !== '')
    }
    const staged = await ask('diff-index', '--cached', '--name-only', '-z', commit)
    const others = ['--others', '--directory', '--no-empty-directory', '--exclude-standard', ...lists(path)]
    const changed = await ask('ls-files', '-z', '--modified', '--deleted', ...others)
    return new Set([...staged, ...changed]).size
  } catch (error) {
    if (work.signal?.aborted === true) throw error
    return undefined
  } finally {
    closeSync(index)
  }
}

/** What the repository and its user have said that is to be ignored, where they mostly say it. */
const lists = (path: string): string[] =>
  [join(path, '.git/info/exclude'), join(homedir(), '.config/git/ignore')]
    .filter((file) => existsSync(file))
    .map((file) => `--exclude-from=${file}`)
