import { createHash } from 'node:crypto'
import type { AnyEvent, EventType } from '../log/event.ts'
import type { Imported, Source } from '../workspace/state.ts'

/**
 * A base is a frozen tree of a source in the layout of a profile: what costs time is done once, and every workspace from
 * the same state of the source begins as it. Its name tells the state, or for a folder, whose state has no name, the
 * folder and a number. Where that would not pay, a workspace may have one of its own, only to be compared with.
 */
export interface Base extends BaseFacts {
  readonly base: string
  readonly created_at: string
}

export interface BaseFacts {
  /** Bases of one group are states of one thing, which replace one another. */
  group: string
  profile: string
  source: Source
  imported: Imported | null
  /** It says what was there, and does not keep the contents of files. */
  listed?: true
}

/** A name for whatever makes two sources the same, whichever order its fields are in. */
export function groupOf(kind: string, profile: string, state: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(state)
    .filter(([, value]) => value !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  const hash = createHash('sha256').update(JSON.stringify([kind, profile, fields]))
  return `${kind}-${hash.digest('hex').slice(0, 32)}`
}

export const baseEventTypes = ['base_created', 'base_removed'] as const satisfies EventType[]

/** The bases that are there, oldest first. @param before those that there were before these events */
export function foldBases(
  events: Iterable<AnyEvent>,
  before: ReadonlyMap<string, Base> = new Map(),
): Map<string, Base> {
  const bases = new Map(before)
  for (const event of events) {
    if (event.type === 'base_created') bases.set(event.data.base, { ...event.data, created_at: event.at })
    if (event.type === 'base_removed') bases.delete(event.data.base)
  }
  return bases
}
