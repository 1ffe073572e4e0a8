import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { AwError } from '../../../domain/errors.ts'
import { isCommitId } from '../../../domain/git/ref.ts'
import { readIfPresent } from '../../../sys/fs/durable-file.ts'
import { isOutsideOf, run } from '../../../sys/processes/run.ts'
import { hardenedEnvironment } from '../../../sys/git/environment.ts'
import { exportFailure, gitExitCode } from '../../../sys/git/failures.ts'
import type { GitProgram } from '../../../sys/git/program.ts'

/** A repository of the user's that a branch is to come to. Its own settings are the user's; no hook of it runs. */
export interface Target {
  /** As it was given. */
  readonly path: string
  /** Where refs and objects are. */
  readonly common: string
  readonly sha256: boolean
  /** Commits whose parents it does not have. */
  readonly cuts: readonly string[]
  /** What git says there. A failure is `export_failed`. */
  readonly ask: (args: readonly string[], options?: Asking) => Promise<string>
}

interface Asking {
  readonly input?: string | undefined
  /** More of the environment. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

const hour = 3_600_000

/** `invalid_input` if there is none right there, or one where agents work: that has never been the user's. */
export async function openTarget(
  git: GitProgram,
  path: string,
  avoid: readonly string[],
  signal?: AbortSignal,
): Promise<Target> {
  const real = realDirectory(path)
  const isOutside = isOutsideOf(avoid)
  if (!isOutside(real)) throw refused(path, 'it is in the home of aw, where agents work')
  const { GIT_DIR: _, ...env } = hardenedEnvironment('')
  const asked = ['--path-format=absolute', '--git-common-dir', '--show-object-format']
  const { stdout } = await run(git.path, ['rev-parse', ...asked], {
    cwd: real,
    env: { ...env, GIT_CEILING_DIRECTORIES: dirname(real) },
    timeoutMs: 20_000,
    signal,
  }).catch((error: unknown) => {
    if (gitExitCode(error) === undefined) throw error
    const why = /dubious ownership/.test(String(error)) ? 'it belongs to another user' : 'it is none'
    throw refused(path, why)
  })
  const [common = '', format] = stdout.split('\n')
  if (!isOutside(common)) throw refused(path, 'it is in the home of aw, where agents work')
  return {
    path,
    common,
    sha256: format === 'sha256',
    cuts: (readIfPresent(join(common, 'shallow')) ?? '').split('\n').filter(isCommitId),
    async ask(args, { input, env: more } = {}) {
      try {
        const options = {
          cwd: '/',
          env: hardenedEnvironment(common, { ...more }),
          timeoutMs: hour,
          signal,
          group: true,
        }
        const maxOutput = 16 * 1024 * 1024
        return (await run(git.path, args, { ...options, input, maxOutput, encoding: 'latin1' })).stdout
      } catch (error) {
        throw exportFailure(error, path)
      }
    },
  }
}

function realDirectory(path: string): string {
  try {
    const real = realpathSync.native(path)
    if (lstatSync(real).isDirectory()) return real
  } catch (error) {
    throw refused(path, 'there is no such directory', error)
  }
  throw refused(path, 'it is no directory')
}

const refused = (path: string, why: string, cause?: unknown): AwError =>
  new AwError('invalid_input', `${path} cannot be used as a repository: ${why}`, {
    hint: 'Give the top directory of a git repository of yours',
    data: { field: 'repo' },
    cause,
  })

/** Why a branch must not be moved: what is checked out somewhere would then not be what it was. */
export async function branchInUse({ ask, common }: Target, ref: string): Promise<string | undefined> {
  const lines = (await ask(['worktree', 'list', '--porcelain', '-z'])).split('\0')
  let tree = ''
  for (const line of lines) {
    if (line.startsWith('worktree ')) tree = Buffer.from(line.slice(9), 'latin1').toString()
    if (line === `branch ${Buffer.from(ref).toString('latin1')}`) return `checked out in ${tree}`
  }
  const inProgress = gitDirectories(common).find((directory) => branchesBusyIn(directory).includes(ref))
  return inProgress === undefined ? undefined : `in the middle of a rebase or a bisection in ${inProgress}`
}

function gitDirectories(common: string): string[] {
  const linked = join(common, 'worktrees')
  const found = lstatSync(linked, { throwIfNoEntry: false })?.isDirectory() === true
  return [common, ...(found ? readdirSync(linked).map((name) => join(linked, name)) : [])]
}

function branchesBusyIn(directory: string): string[] {
  const rebased = ['rebase-merge/head-name', 'rebase-apply/head-name'].map((name) =>
    readIfPresent(join(directory, name)),
  )
  const bisected = readIfPresent(join(directory, 'BISECT_START'))?.trim()
  const branches = [...rebased.map((text) => text?.trim()), bisected && `refs/heads/${bisected}`]
  return branches.filter((name) => name !== undefined)
}
