import type { Inputs, Outputs } from '../../api/table.ts'
import { AwError } from '../../domain/errors.ts'
import type { TrashedArea } from '../../domain/workspace/shared-areas.ts'
import { checkedShortName } from '../../domain/names.ts'
import type { Lock } from '../../ports/host.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { appendHome } from '../kernel/home-stream.ts'
import { trashOf } from '../kernel/places.ts'
import { assertFreeName, lockArea, sharedAreas, sharedPath, sharedPlace } from './shared-areas.ts'

/** What removed shared areas held, and nobody has erased yet; oldest first. */
export const trashedShared = async (core: Core): Promise<TrashedArea[]> => [
  ...(await sharedAreas(core)).trashed.values(),
]

/** Back from the trash, as it was. What the log is told first is what recovery then brings about. */
export async function undeleteShared(
  core: Core,
  input: Inputs['shared undelete'],
  request: Request,
): Promise<Outputs['shared undelete']> {
  const { trash, tree, task, created_at, name: former } = await findTrashed(core, input.trash)
  const name = checkedShortName(input.as ?? former, 'a shared area')
  using _ = await lockArea(core, request, name)
  using lock = await lockTrashed(core, request, trash)
  await findTrashed(core, trash)
  await assertFreeName(core, name)
  const place = sharedPlace({ tree })
  await appendHome(core, newEvent(core, request, 'shared_undeleted', { trash, name, task, tree }))
  try {
    await core.storage.move(trashOf(trash), place)
    await core.host.publish(sharedPath(core, name), core.storage.attachment(place).path)
  } catch (error) {
    if (await core.storage.exists(place)) await core.storage.move(place, trashOf(trash))
    await appendHome(core, newEvent(core, request, 'shared_removed', { name, trash }))
    throw error
  }
  lock.retire()
  return { name, task, path: sharedPath(core, name), created_at }
}

/** Erases it, unless somebody has brought it back. */
export async function purgeShared(core: Core, request: Request, trash: string): Promise<void> {
  using lock = await lockTrashed(core, request, trash)
  if (!(await sharedAreas(core)).trashed.has(trash)) return
  await core.storage.erase(trashOf(trash))
  await appendHome(core, newEvent(core, request, 'shared_purged', { trash }))
  lock.retire()
}

/** By its name in the trash; or the last one that had this name. */
async function findTrashed(core: Core, ref: string): Promise<TrashedArea> {
  const all = await trashedShared(core)
  const found = all.find(({ trash }) => trash === ref) ?? all.findLast(({ name }) => name === ref)
  if (found !== undefined && (await core.storage.exists(trashOf(found.trash)))) return found
  throw new AwError('shared_not_found', `There is no shared area ${JSON.stringify(ref)} in the trash`, {
    hint: 'See them: aw shared list --trashed',
    data: { trash: ref },
  })
}

async function lockTrashed(core: Core, request: Request, trash: string): Promise<Lock> {
  const timeoutMs = core.config.settings['locks.timeout_ms']
  const lock = await core.host.lock(trash, { timeoutMs, signal: request.signal })
  if (lock !== undefined) return lock
  throw new AwError('workspace_busy', `Something else is done with ${trash}`, { hint: 'Try again' })
}
