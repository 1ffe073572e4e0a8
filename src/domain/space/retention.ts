import { durationText } from '../text/duration.ts'
import { bytesAbove, type Space, usedPercent, type Watermarks } from './watermarks.ts'

/** In the order in which they go: what is made again by itself first, what somebody worked on last. */
export const thingKinds = ['leftover', 'base', 'cache', 'damaged', 'tree', 'snapshot', 'archive', 'workspace'] as const

export type ThingKind = (typeof thingKinds)[number]

/** Something that takes space, and that may have to go. */
export interface Thing {
  readonly kind: ThingKind
  readonly name: string
  /**
   * When it was used last; of a tree, since when it is in the trash; of what is damaged, when it was put aside; of an
   * archive, when it was made.
   */
  readonly since: string
  /** It is spare whatever its age, for this reason. */
  readonly spare?: string | undefined
  /** Of a workspace: when its own time is over. */
  readonly expires_at?: string | undefined
  /** Of a tree: how it came into the trash. */
  readonly origin?: string | undefined
}

export interface RetentionPolicy {
  readonly now: string
  /** For how long each is left alone; null means for ever. */
  readonly keepMs: {
    readonly base: number
    readonly tree: number
    readonly archive: number | null
    readonly workspace: number | null
  }
  readonly marks: Watermarks | null
}

/** What came into the trash before that may go. */
export const trashCutoff = ({ now, keepMs }: RetentionPolicy): string =>
  new Date(Date.parse(now) - keepMs.tree).toISOString()

/** What the machine must be asked. It takes time, so it is asked only about what may go. */
export interface Look<T> {
  /** What erasing it gives back. */
  bytes(thing: T): Promise<number>
  /** Why it must stay though its time is over; undefined if nothing speaks for it. */
  held(thing: T): Promise<string | undefined>
}

export interface Planned<T> {
  readonly thing: T
  /** A workspace is never erased at once. */
  readonly action: 'erase' | 'trash'
  readonly why: string
  readonly bytes: number
  /** It goes only because the storage is full. */
  readonly pressed: boolean
}

export interface Plan<T> {
  /** In this order. */
  readonly goes: readonly Planned<T>[]
  readonly stays: readonly { readonly thing: T; readonly why: string }[]
  /** Bytes that come back at once, and those that come back when the trash is emptied. */
  readonly frees: number
  readonly later: number
}

/** Whatever the storage needs, what was used, or came into the trash, so short a time ago stays. */
export const recentMs = 3_600_000

/**
 * What goes, and why. First all whose time is over; then, if the storage is fuller than its high mark, what could have
 * stayed: bases and caches, what is damaged, then trees in the trash, the oldest first, then workspaces, the least
 * recently used first. That ends when the low mark is reached. A workspace in the trash gives nothing back yet, so what
 * is there, and will be erased as soon as it may be, counts as if it were gone: else every workspace would have to go
 * for the first byte.
 */
export async function planRetention<T extends Thing>(
  things: readonly T[],
  policy: RetentionPolicy,
  space: Space,
  look: Look<T>,
): Promise<Plan<T>> {
  const goes: Planned<T>[] = []
  const stays: { thing: T; why: string }[] = []
  const sum = { frees: 0, later: 0 }
  const seen = new Set<T>()

  async function take(thing: T, why: string, pressed: boolean): Promise<void> {
    seen.add(thing)
    const held = await look.held(thing)
    if (held !== undefined) return void stays.push({ thing, why: held })
    const bytes = await look.bytes(thing)
    const action = thing.kind === 'workspace' ? 'trash' : 'erase'
    goes.push({ thing, action, why, bytes, pressed })
    sum[action === 'erase' ? 'frees' : 'later'] += bytes
  }

  const inOrder = things.toSorted(byCost)
  for (const thing of inOrder) {
    const why = dueReason(thing, policy)
    if (why !== undefined) await take(thing, why, false)
  }
  const { marks } = policy
  if (marks === null || usedPercent(space) <= marks.high) return { goes, stays, ...sum }

  const wanted = bytesAbove(space, marks.low)
  const full = `the storage is ${Math.floor(usedPercent(space))}% full`
  const rest = inOrder.filter((thing) => !seen.has(thing))
  const spare = rest.filter(({ since }) => ageOf(since, policy) >= recentMs)
  for (const thing of spare.filter(({ kind }) => pressable.has(kind)))
    if (sum.frees < wanted) await take(thing, `${full}; ${ageText(thing, policy)}`, true)
  const workspaces = spare.filter(({ kind }) => kind === 'workspace')
  if (sum.frees + sum.later >= wanted || workspaces.length === 0) return { goes, stays, ...sum }
  let waiting = 0
  for (const tree of rest) if (tree.kind === 'tree' && !seen.has(tree)) waiting += await look.bytes(tree)
  for (const thing of workspaces)
    if (sum.frees + sum.later + waiting < wanted) await take(thing, `${full}; ${ageText(thing, policy)}`, true)
  return { goes, stays, ...sum }
}

const pressable: ReadonlySet<ThingKind> = new Set(['base', 'cache', 'damaged', 'tree'])

const byCost = (one: Thing, other: Thing): number =>
  thingKinds.indexOf(one.kind) - thingKinds.indexOf(other.kind) || Date.parse(one.since) - Date.parse(other.since)

/** Why the time of a thing is over, in words; undefined if it is not. */
export function dueReason(thing: Thing, policy: RetentionPolicy): string | undefined {
  if (thing.spare !== undefined) return thing.spare
  if (thing.expires_at !== undefined && thing.expires_at <= policy.now)
    return `the time it was made for was over ${durationText(ageOf(thing.expires_at, policy))} ago`
  const kind = thing.kind === 'cache' ? 'base' : thing.kind === 'damaged' ? 'tree' : thing.kind
  if (kind === 'leftover' || kind === 'snapshot') return undefined
  const keep = policy.keepMs[kind]
  return keep !== null && ageOf(thing.since, policy) >= keep
    ? `${ageText(thing, policy)}; ${kindText[kind]} ${durationText(keep)}`
    : undefined
}

const kindText = {
  base: 'what is not needed stays for',
  tree: 'trash is kept for',
  archive: 'archives are kept for',
  workspace: 'workspaces are kept for',
} as const

const ageOf = (since: string, { now }: RetentionPolicy): number => Date.parse(now) - Date.parse(since)

function ageText({ kind, since, origin }: Thing, policy: RetentionPolicy): string {
  const age = durationText(ageOf(since, policy))
  if (kind === 'tree') return `${origin ?? 'came into the trash'} ${age} ago`
  if (kind === 'damaged') return `found damaged ${age} ago`
  if (kind === 'base') return `no workspace began as it, and it was not used for ${age}`
  return kind === 'archive' ? `archived ${age} ago` : `not used for ${age}`
}
