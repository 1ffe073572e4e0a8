import { AwError } from '../../domain/errors.ts'
import type { TrashedArea } from '../../domain/workspace/shared-areas.ts'
import type { Lock } from '../../ports/host.ts'
import { newEvent, type Core, type Request } from '../core.ts'
import { appendHome } from '../kernel/home-stream.ts'
import { trashOf } from '../kernel/places.ts'
import { sharedAreas } from './shared-areas.ts'

/** What removed shared areas held, and nobody has erased yet; oldest first. */
export const trashedShared = async (core: Core): Promise<TrashedArea[]> => [
  ...(await sharedAreas(core)).trashed.values(),
]

/** Erases it, unless somebody has brought it back. */
export async function purgeShared(core: Core, request: Request, trash: string): Promise<void> {
  using lock = await lockTrashed(core, request, trash)
  if (!(await sharedAreas(core)).trashed.has(trash)) return
  await core.storage.erase(trashOf(trash))
  await appendHome(core, newEvent(core, request, 'shared_purged', { trash }))
  lock.retire()
}

export async function lockTrashed(core: Core, request: Request, trash: string): Promise<Lock> {
  const timeoutMs = core.config.settings['locks.timeout_ms']
  const lock = await core.host.lock(trash, { timeoutMs, signal: request.signal })
  if (lock !== undefined) return lock
  throw new AwError('workspace_busy', `Something else is done with ${trash}`, { hint: 'Try again' })
}
