import { AwError } from '../../domain/errors.ts'
import type { AnyEvent } from '../../domain/log/event.ts'
import { foldShared, type SharedAreas, sharedEventTypes } from '../../domain/workspace/shared-areas.ts'
import { checkedShortName } from '../../domain/names.ts'
import type { Lock } from '../../ports/host.ts'
import type { Place } from '../../ports/storage-driver.ts'
import type { Core, Request } from '../core.ts'

export async function sharedAreas(core: Core): Promise<SharedAreas> {
  const events: AnyEvent[] = []
  for await (const event of core.store.read('home', { types: sharedEventTypes })) events.push(event)
  return foldShared(events)
}

export const sharedPlace = ({ tree }: { tree: string }): Place => ({ area: 'volumes', name: tree })

/** Where users find it. */
export const sharedPath = (core: Core, name: string): string => `${core.home}/shared/${name}`

export async function assertFreeName(core: Core, name: string): Promise<void> {
  if (!(await sharedAreas(core)).live.has(name)) return
  throw new AwError('shared_exists', `There is a shared area ${name} already`, {
    hint: 'Take another name, or see it with: aw shared list',
    data: { name },
  })
}

export async function lockArea(core: Core, request: Request, name: string): Promise<Lock> {
  const timeoutMs = core.config.settings['locks.timeout_ms']
  const lock = await core.host.lock(`shared-${checkedShortName(name, 'a shared area')}`, {
    timeoutMs,
    signal: request.signal,
  })
  if (lock !== undefined) return lock
  throw new AwError('workspace_busy', `Something else is done with the shared area ${name}`, { hint: 'Try again' })
}
