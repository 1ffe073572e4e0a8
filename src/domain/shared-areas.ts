import type { AnyEvent, EventType } from './event.ts'

/** A directory that several workspaces may use, and that outlives them. It is in no snapshot. */
export interface SharedArea {
  readonly name: string
  /** Of this task, or of the whole home. */
  readonly task: string | null
  readonly tree: string
  readonly created_at: string
}

export const sharedEventTypes = ['shared_created', 'shared_removed'] as const satisfies EventType[]

export function foldShared(events: Iterable<AnyEvent>): Map<string, SharedArea> {
  const areas = new Map<string, SharedArea>()
  for (const event of events) {
    if (event.type === 'shared_created') areas.set(event.data.name, { ...event.data, created_at: event.at })
    if (event.type === 'shared_removed') areas.delete(event.data.name)
  }
  return areas
}
