import type { AnyEvent, EventType, StreamId } from '../../domain/log/event.ts'
import type { EventStore } from '../../ports/event-store.ts'

/** What is known of a stream, up to a version of it. */
interface Known<T> {
  readonly version: number
  readonly state: T
}

const maxKnown = 100

/**
 * What events of some types make of a stream. It is kept for the streams that were read last, so that only what came
 * since is read: a question costs the same however long the history is.
 */
export function cachedFold<T>(
  types: readonly EventType[],
  fold: (events: Iterable<AnyEvent>, before?: T) => T,
): (store: EventStore, stream: StreamId) => Promise<T> {
  const known = new WeakMap<EventStore, Map<StreamId, Known<T>>>()
  return async (store, stream) => {
    const all: Map<StreamId, Known<T>> = known.get(store) ?? new Map<StreamId, Known<T>>()
    known.set(store, all)
    const version = await store.version(stream)
    const found = all.get(stream)
    if (found?.version === version) return found.state
    const earlier = found !== undefined && found.version < version ? found : undefined
    const events: AnyEvent[] = []
    // What is appended meanwhile may be among them.
    for await (const event of store.read(stream, { after: earlier?.version ?? 0, types })) events.push(event)
    const state = fold(events, earlier?.state)
    all.delete(stream)
    all.set(stream, { version: Math.max(version, events.at(-1)?.version ?? 0), state })
    for (const oldest of all.keys()) if (all.size > maxKnown) all.delete(oldest)
    return state
  }
}
