import type { AnyEvent, EventType } from '../log/event.ts'

/** A directory that several workspaces may use, and that outlives them. It is in no snapshot. */
export interface SharedArea {
  readonly name: string
  /** Of this task, or of the whole home. */
  readonly task: string | null
  readonly tree: string
  readonly created_at: string
}

/** One that was removed and not erased yet. */
export interface TrashedArea extends SharedArea {
  readonly trash: string
  /** When it was removed. */
  readonly at: string
}

export const sharedEventTypes = [
  'shared_created',
  'shared_removed',
  'shared_undeleted',
  'shared_purged',
] as const satisfies EventType[]

export interface SharedAreas {
  /** By name. */
  readonly live: ReadonlyMap<string, SharedArea>
  /** By the name in the trash, oldest first. */
  readonly trashed: ReadonlyMap<string, TrashedArea>
}

export function foldShared(events: Iterable<AnyEvent>): SharedAreas {
  const live = new Map<string, SharedArea>()
  const trashed = new Map<string, TrashedArea>()
  for (const event of events) {
    if (event.type === 'shared_created') live.set(event.data.name, { ...event.data, created_at: event.at })
    if (event.type === 'shared_removed') {
      const { name, trash } = event.data
      const area = live.get(name)
      if (area !== undefined) trashed.set(trash, { ...area, trash, at: event.at })
      live.delete(name)
    }
    if (event.type === 'shared_undeleted') {
      const { trash, name, task, tree } = event.data
      const created_at = trashed.get(trash)?.created_at ?? event.at
      live.set(name, { name, task, tree, created_at })
      trashed.delete(trash)
    }
    if (event.type === 'shared_purged') trashed.delete(event.data.trash)
  }
  return { live, trashed }
}
