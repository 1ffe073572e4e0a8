import { durationText } from '../text/duration.ts'
import { bytesAbove, type Space, usedPercent, type Watermarks } from './watermarks.ts'

/** In the order in which they go: what is made again by itself first, what somebody worked on last. */
export const reclaimableKinds = [
  'leftover',
  'base',
  'cache',
  'damaged',
  'tree',
  'snapshot',
  'archive',
  'workspace',
] as const

export type ReclaimableKind = (typeof reclaimableKinds)[number]

/** Something that takes space, and that may have to go. */
export interface Reclaimable {
  readonly kind: ReclaimableKind
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
export interface ReclaimChecks<T> {
  /** What erasing it gives back. */
  bytes(item: T): Promise<number>
  /** Why it must stay though its time is over; undefined if nothing speaks for it. */
  held(item: T): Promise<string | undefined>
}

export interface PlannedReclaim<T> {
  readonly thing: T
  /** A workspace is never erased at once. */
  readonly action: 'erase' | 'trash'
  readonly why: string
  readonly bytes: number
  /** It goes only because the storage is full. */
  readonly pressed: boolean
}

export interface ReclaimPlan<T> {
  /** In this order. */
  readonly goes: readonly PlannedReclaim<T>[]
  readonly stays: readonly { readonly thing: T; readonly why: string }[]
  /** Bytes that come back at once, and those that come back when the trash is emptied. */
  readonly frees: number
  readonly later: number
}

/** Whatever the storage needs, what was used, or came into the trash, so short a time ago stays. */
export const minAgeMs = 3_600_000

/**
 * What goes, and why. First all whose time is over; then, if the storage is fuller than its high mark, what could have
 * stayed: bases and caches, what is damaged, then trees in the trash, the oldest first, then workspaces, the least
 * recently used first. That ends when the low mark is reached. A workspace in the trash gives nothing back yet, so what
 * is there, and will be erased as soon as it may be, counts as if it were gone: else every workspace would have to go
 * for the first byte.
 */
export async function planRetention<T extends Reclaimable>(
  items: readonly T[],
  policy: RetentionPolicy,
  space: Space,
  look: ReclaimChecks<T>,
): Promise<ReclaimPlan<T>> {
  const goes: PlannedReclaim<T>[] = []
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

  const inOrder = items.toSorted(byCost)
  for (const item of inOrder) {
    const why = dueReason(item, policy)
    if (why !== undefined) await take(item, why, false)
  }
  const { marks } = policy
  if (marks === null || usedPercent(space) <= marks.high) return { goes, stays, ...sum }

  const wanted = bytesAbove(space, marks.low)
  const full = `the storage is ${Math.floor(usedPercent(space))}% full`
  const rest = inOrder.filter((item) => !seen.has(item))
  const spare = rest.filter(({ since }) => ageOf(since, policy) >= minAgeMs)
  for (const item of spare.filter(({ kind }) => reclaimedUnderPressure.has(kind)))
    if (sum.frees < wanted) await take(item, `${full}; ${ageText(item, policy)}`, true)
  const workspaces = spare.filter(({ kind }) => kind === 'workspace')
  if (sum.frees + sum.later >= wanted || workspaces.length === 0) return { goes, stays, ...sum }
  let waiting = 0
  for (const tree of rest) if (tree.kind === 'tree' && !seen.has(tree)) waiting += await look.bytes(tree)
  for (const item of workspaces)
    if (sum.frees + sum.later + waiting < wanted) await take(item, `${full}; ${ageText(item, policy)}`, true)
  return { goes, stays, ...sum }
}

const reclaimedUnderPressure: ReadonlySet<ReclaimableKind> = new Set(['base', 'cache', 'damaged', 'tree'])

const byCost = (one: Reclaimable, other: Reclaimable): number =>
  reclaimableKinds.indexOf(one.kind) - reclaimableKinds.indexOf(other.kind) ||
  Date.parse(one.since) - Date.parse(other.since)

/** Why the time of a thing is over, in words; undefined if it is not. */
export function dueReason(item: Reclaimable, policy: RetentionPolicy): string | undefined {
  if (item.spare !== undefined) return item.spare
  if (item.expires_at !== undefined && item.expires_at <= policy.now)
    return `the time it was made for was over ${durationText(ageOf(item.expires_at, policy))} ago`
  const kind = item.kind === 'cache' ? 'base' : item.kind === 'damaged' ? 'tree' : item.kind
  if (kind === 'leftover' || kind === 'snapshot') return undefined
  const keep = policy.keepMs[kind]
  return keep !== null && ageOf(item.since, policy) >= keep
    ? `${ageText(item, policy)}; ${kindText[kind]} ${durationText(keep)}`
    : undefined
}

const kindText = {
  base: 'what is not needed stays for',
  tree: 'trash is kept for',
  archive: 'archives are kept for',
  workspace: 'workspaces are kept for',
} as const

const ageOf = (since: string, { now }: RetentionPolicy): number => Date.parse(now) - Date.parse(since)

function ageText({ kind, since, origin }: Reclaimable, policy: RetentionPolicy): string {
  const age = durationText(ageOf(since, policy))
  if (kind === 'tree') return `${origin ?? 'came into the trash'} ${age} ago`
  if (kind === 'damaged') return `found damaged ${age} ago`
  if (kind === 'base') return `no workspace began as it, and it was not used for ${age}`
  return kind === 'archive' ? `archived ${age} ago` : `not used for ${age}`
}
