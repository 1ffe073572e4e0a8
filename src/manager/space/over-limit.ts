import { sizeText } from '../../domain/space/size.ts'
import { isLive, nameOf, type Workspace } from '../../domain/workspace/state.ts'
import type { Core, Finding, Request } from '../core.ts'
import { volumeOf } from '../kernel/places.ts'
import { boundedMeasure, defaultBounds, type MeasureTree } from './measure.ts'
import { baselinePlace, growthOf, limitHint, maxBytesOf, roomLeftIn } from './size-limit.ts'

/** Every workspace that is over its limit, or at it where the kernel enforces it. */
export async function overLimit(core: Core, request: Request): Promise<Finding[]> {
  const live = (await core.store.list()).filter((one) => isLive(one.state) && maxBytesOf(one) > 0)
  const measure = boundedMeasure(core, request, live.length, defaultBounds)
  const found: Finding[] = []
  for (const workspace of live) {
    const message = await problemOf(core, workspace, measure)
    if (message === undefined) continue
    found.push({ name: 'size limits', status: 'warning', message, hint: limitHint(workspace) })
  }
  return found
}

async function problemOf(core: Core, workspace: Workspace, measure: MeasureTree): Promise<string | undefined> {
  const [name, limit] = [nameOf(workspace), `${workspace.config.max_size_mb} MB`]
  const room = core.storage.capabilities.quota === 'kernel' ? await roomLeftIn(core, workspace) : null
  if (room !== null) return room > 0 ? undefined : `${name} is at its size limit of ${limit}`
  const tree = await measure(volumeOf(workspace), { beyond: baselinePlace(workspace) })
  const bytes = (await growthOf(core, workspace, measure, tree)) ?? (await lastKnown(core, workspace))
  if (bytes <= maxBytesOf(workspace)) return undefined
  return `${name} is over its size limit of ${limit}, so commands in it are refused: it has grown by ${sizeText(bytes)}`
}

/** For what is too large to be measured now. */
async function lastKnown(core: Core, { id, generation }: Workspace): Promise<number> {
  const known = await core.sizes.get(id)
  return known?.generation === generation ? known.bytes : 0
}
