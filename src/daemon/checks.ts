import type { Outputs } from '../api/table.ts'
import { AwError } from '../domain/errors.ts'
import type { Manager } from '../ports/manager.ts'

/** What a daemon found when it started. */
export interface StartReport {
  readonly findings: Outputs['doctor']['findings']
  readonly recovered: Outputs['recover']
}

/**
 * Nobody is let in before this has passed: the walls that the settings ask for hold, the log and the storage are in
 * order, and what a dead process left is finished or undone.
 */
export async function startChecks(manager: Manager, signal: AbortSignal): Promise<StartReport> {
  const { findings } = await manager.call('doctor', {}, { signal })
  const broken = findings.filter(({ status }) => status === 'problem')
  const [first] = broken
  if (first !== undefined) {
    const isWall = first.name.startsWith('sandbox')
    throw new AwError(
      isWall ? 'sandbox_unenforceable' : 'invalid_config',
      `aw does not serve: ${first.name}: ${first.message}`,
      {
        hint: first.hint ?? 'See all of it with: aw doctor',
        data: { problems: broken.map(({ name, message }) => ({ name, message })) },
      },
    )
  }
  return { findings, recovered: await manager.call('recover', {}, { signal }) }
}

/** One line for each thing that was done; none if all was in order. */
export function reportLines({ recovered }: StartReport): string[] {
  const { recovered: done, busy, failed, lost, orphans, leftovers } = recovered
  return [
    ...done.map(({ name, operation, outcome }) => `finished ${operation} of ${name}: ${outcome}`),
    ...busy.map(({ name }) => `${name} is in use by another process`),
    ...failed.map(({ name, message }) => `${name} could not be recovered: ${message}`),
    ...(lost.length > 0 ? [`${lost.length} workspaces have lost their tree`] : []),
    ...(orphans.length > 0 ? [`${orphans.length} trees are not in the log; they are kept`] : []),
    ...(leftovers.length > 0 ? [`${leftovers.length} leftovers were found`] : []),
  ]
}
