import { AwError } from '../../../domain/errors.ts'
import { isCommitId } from '../../../domain/git/ref.ts'
import type { BranchOptions, BranchResult } from '../../../ports/git-results.ts'
import { transferGuards } from '../../../sys/git/environment.ts'
import type { StagingRepository } from './staging-repository.ts'
import { branchInUse, type Target } from './target.ts'

/**
 * Brings a commit with all that it needs into the target, then sets the branch, if it still is what it was when it was
 * looked at. Killed in between, objects are left that nothing leads to, which git removes in time.
 */
export async function pushCommit(
  staging: StagingRepository,
  commit: string,
  { name, overwrite, reason }: BranchOptions,
): Promise<BranchResult> {
  const { target } = staging
  if (target === undefined) throw new AwError('internal', 'There is no repository for a branch')
  const ref = `refs/heads/${name}`
  const before = await branchAt(target, ref)
  if (before === commit) return { before, changed: false }
  await assertFree(target, ref, name, before, overwrite)
  await staging.ask(['update-ref', 'refs/heads/result', commit])
  const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head', '--no-recurse-submodules', '--no-auto-maintenance']
  await target.ask(['fetch', ...quiet, '--', staging.repository, 'refs/heads/result'], {
    env: { ...transferGuards(), GIT_ALLOW_PROTOCOL: 'file' },
  })
  // Somebody may have checked it out meanwhile.
  await assertFree(target, ref, name, before, overwrite)
  await setBranch(target, ref, name, { commit, before, reason })
  return { before, changed: true }
}

async function branchAt(target: Target, ref: string): Promise<string | null> {
  const pattern = Buffer.from(ref).toString('latin1')
  const found = (await target.ask(['for-each-ref', '--format=%(refname)%00%(objectname)%00%(symref)', ref]))
    .split('\n')
    .map((line) => line.split('\0'))
    .find(([refname]) => refname === pattern)
  const [, id = '', symbolic = ''] = found ?? ['', '', await namedBy(target, ref)]
  if (symbolic === '' && found === undefined) return null
  if (symbolic === '' && isCommitId(id)) return id
  throw new AwError('branch_in_use', `${ref} is another name for ${symbolic}`, { hint: 'Choose another name' })
}

/** What a name leads to that is another name for a branch that does not exist; such a one is in no list. */
const namedBy = async (target: Target, ref: string): Promise<string> =>
  (await target.ask(['symbolic-ref', '--quiet', ref]).catch(() => '')).trim()

async function assertFree(target: Target, ref: string, name: string, before: string | null, overwrite: boolean) {
  const used = await branchInUse(target, ref)
  if (used !== undefined)
    throw new AwError('branch_in_use', `The branch ${name} is ${used}`, {
      hint: 'Choose another name, or check something else out there',
      data: { branch: name },
    })
  if (before !== null && !overwrite)
    throw new AwError('branch_exists', `${target.path} has a branch ${name} already`, {
      hint: 'Choose another name, or replace what it has: --overwrite',
      data: { branch: name, commit: before },
    })
}

interface Setting {
  readonly commit: string
  readonly before: string | null
  readonly reason: string
}

async function setBranch(
  target: Target,
  ref: string,
  name: string,
  { commit, before, reason }: Setting,
): Promise<void> {
  const seen = before ?? '0'.repeat(commit.length)
  try {
    await target.ask(['update-ref', '--no-deref', '-m', reason, ref, commit, seen])
  } catch (error) {
    if ((await branchAt(target, ref)) === before) throw error
    throw new AwError('branch_exists', `The branch ${name} was made or moved by somebody else just now`, {
      hint: 'Look at it, then try again',
      data: { branch: name },
      cause: error,
    })
  }
}
