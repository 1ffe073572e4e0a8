import { AwError, toAwError } from '../../domain/errors.ts'
import { nameOf, type OpenCommand, type Workspace } from '../../domain/workspace/state.ts'
import type { SizeWatch } from '../../ports/sandbox-driver.ts'
import type { GrowthWatch } from '../../ports/storage-driver.ts'
import { ignoreGone, ignoreTimeout, liveBoxes } from '../sandboxes/commands.ts'
import type { Core } from '../core.ts'
import { volumeOf } from '../kernel/places.ts'
import { baselineBytes, baselinePlace, grownBytes, limitHint, maxBytesOf, roomLeftIn } from './size-limit.ts'

/**
 * What the supervisor of a sandbox measures, and the most that may be there; undefined where the kernel counts, or nobody
 * can. The limit can be changed while the sandbox lives.
 */
export async function sizeWatch(core: Core, workspace: Workspace): Promise<SizeWatch | undefined> {
  const everyMs = core.config.settings['space.watch_ms']
  if (everyMs === 0 || (await roomLeftIn(core, workspace)) !== null) return undefined
  const growing = await core.storage.growing?.(volumeOf(workspace), baselinePlace(workspace))
  const limit = growing && (await maxBytesFor(core, workspace, growing))
  return growing && limit !== undefined ? { paths: growing.paths, maxBytes: limit, everyMs } : undefined
}

async function maxBytesFor(
  core: Core,
  workspace: Workspace,
  { whole, since }: GrowthWatch,
): Promise<number | undefined> {
  const limit = maxBytesOf(workspace)
  if (limit === 0) return limit
  if (since !== undefined) {
    // Both must be of the same moment, so an earlier measurement will not do.
    const grown = await grownBytes(core, workspace)
    return grown === null ? undefined : Math.max(1, since + limit - grown)
  }
  if (!whole) return limit
  const known = await core.sizes.get(workspace.id)
  const isKnown = known?.generation === workspace.generation && known.began !== undefined
  const began = isKnown ? known.began : await baselineBytes(core, workspace)
  if (!isKnown && known !== undefined) await core.sizes.put(workspace.id, { ...known, began })
  return began == null ? undefined : limit + began
}

/** Sandboxes that live are held to a limit that was changed. One that does not answer keeps the one it has. */
export async function updateSandboxLimits(core: Core, workspace: Workspace): Promise<void> {
  const watch = await sizeWatch(core, workspace)
  for (const box of (await liveBoxes(core, workspace).catch(ignoreTimeout)) ?? []) {
    await using _ = box
    await box.limitSize(watch?.maxBytes ?? 0).catch(ignoreGone)
  }
}

/** Says why, if a sandbox has ended under what ran in it because the workspace was over its limit. */
export async function reasonOf(
  core: Core,
  workspace: Workspace,
  { sandbox, isolation }: Pick<OpenCommand, 'sandbox' | 'isolation'>,
  error: unknown,
): Promise<unknown> {
  if (toAwError(error).code !== 'sandbox_gone') return error
  return (await (await core.sandboxes(isolation)).endedBySize(sandbox)) ? stoppedBySize(core, workspace) : error
}

/** Whether the sandbox that was started around a workspace has ended because of its size. */
export async function endedBySize(core: Core, { sandbox }: Workspace): Promise<boolean> {
  if (sandbox === undefined || core.host.liveness(sandbox.supervisor) !== 'dead') return false
  return (await core.sandboxes(sandbox.isolation)).endedBySize(sandbox.sandbox)
}

/** What was measured before is out of date. */
export async function stoppedBySize(core: Core, workspace: Workspace): Promise<AwError> {
  await core.sizes.remove(workspace.id)
  const limit_mb = workspace.config.max_size_mb
  const message = `${nameOf(workspace)} passed its size limit of ${limit_mb} MB, so everything running in it was stopped`
  return new AwError('quota_exceeded', message, {
    hint: limitHint(workspace),
    data: { id: workspace.id, limit_mb, grade: 'watched' },
  })
}
