import type { Outputs } from '../api/table.ts'
import type { Settings } from '../domain/config/config.ts'
import { AwError } from '../domain/errors.ts'
import type { Manager } from '../ports/manager.ts'

type Finding = Outputs['doctor']['findings'][number]

/** What a daemon found when it started. */
export interface StartReport {
  readonly findings: readonly Finding[]
  readonly recovered: Outputs['recover']
}

/**
 * Nobody is let in before this has passed: the log and the storage are in order, no wall of the level in use lets
 * anything through, and what a dead process left is finished or undone. A level that does not work on this machine keeps
 * nobody out, unless the settings require it: whoever asks for it is refused.
 */
export async function startChecks(
  manager: Manager,
  settings: Pick<Settings, 'sandbox.required'>,
  signal: AbortSignal,
): Promise<StartReport> {
  const { findings } = await manager.call('doctor', {}, { signal })
  const isHarmless = ({ name }: Finding): boolean =>
    nonFatalChecks.includes(name) || (isLevel(name) && !settings['sandbox.required'])
  const broken = findings.filter((finding) => finding.status === 'problem' && !isHarmless(finding))
  const [first] = broken
  if (first !== undefined) {
    throw new AwError(
      isLevel(first.name) || isWall(first.name) ? 'sandbox_unenforceable' : 'invalid_config',
      `aw does not serve: ${first.name}: ${first.message}`,
      {
        hint: first.hint ?? 'See all of it with: aw doctor',
        data: { problems: broken.map(({ name, message }) => ({ name, message })) },
      },
    )
  }
  return { findings, recovered: await manager.call('recover', {}, { signal }) }
}

/** By what `aw doctor` calls them: the levels of sandboxes, and each wall that was tried. */
const isLevel = (name: string): boolean => name.startsWith('sandbox ')
const isWall = (name: string): boolean => name.startsWith('wall ')

/**
 * What is told and keeps nobody out: a disk that is nearly full needs the daemon that makes room, and what a device once
 * failed at needs the one through which the rest is saved.
 */
const nonFatalChecks = ['space', 'pool device']

/** One line for each thing that was done or is wrong; none if all was in order. */
export function reportLines({ findings, recovered }: StartReport): string[] {
  const { recovered: done, busy, failed, lost, orphans, leftovers } = recovered
  const problems = findings.filter(({ status }) => status === 'problem')
  return [
    ...problems.map(({ name, message, hint }) => `${name}: ${message}${hint === null ? '' : `. ${hint}`}`),
    ...done.map(({ name, operation, outcome }) => `finished ${operation} of ${name}: ${outcome}`),
    ...busy.map(({ name }) => `${name} is in use by another process`),
    ...failed.map(({ name, message }) => `${name} could not be recovered: ${message}`),
    ...(lost.length > 0 ? [`${lost.length} workspaces have lost their tree`] : []),
    ...(orphans.length > 0 ? [`${orphans.length} trees are not in the log; they are kept`] : []),
    ...(leftovers.length > 0 ? [`${leftovers.length} leftovers were found`] : []),
  ]
}
