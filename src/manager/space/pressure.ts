import { toAwError } from '../../domain/errors.ts'
import { type Space, spaceWarning, usedPercent, watermarksOf } from '../../domain/space/watermarks.ts'
import type { Core, Finding } from '../core.ts'

export async function spaceOf(core: Core): Promise<Space> {
  const { bytes: free, total } = await core.storage.free()
  return { free, total }
}

/** What gc answers about the storage. */
export function spaceReport(core: Core, space: Space) {
  const marks = watermarksOf(core.config.settings)
  return {
    used_percent: Math.floor(usedPercent(space)),
    high_percent: marks?.high ?? null,
    low_percent: marks?.low ?? null,
    warning: spaceWarning(space, marks) ?? null,
  }
}

/** Before things go that could have stayed, somebody should know. */
export async function pressureFindings(core: Core): Promise<Finding[]> {
  const found = (status: 'warning' | 'problem', message: string, hint: string): Finding[] => [
    { name: 'gc', status, message, hint },
  ]
  try {
    const warning = spaceWarning(await spaceOf(core), watermarksOf(core.config.settings))
    return warning === undefined ? [] : found('warning', warning, 'See what would go with: aw gc --plan')
  } catch (error) {
    const { code, message, hint } = toAwError(error)
    // A storage that cannot be asked says so itself.
    return code === 'invalid_config' ? found('problem', message, hint ?? 'Check with: aw config show') : []
  }
}
