import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  dueReason,
  planRetention,
  type ReclaimPlan,
  minAgeMs,
  type RetentionPolicy,
  type Reclaimable,
  reclaimableKinds,
} from './retention.ts'
import { bytesAbove, type Space } from './watermarks.ts'

interface Known extends Reclaimable {
  readonly bytes: number
  readonly holder: string | undefined
}

const day = 86_400_000
const now = Date.UTC(2026, 10, 15)
const ago = (ms: number): string => new Date(now - ms).toISOString()

const plan = (items: readonly Known[], policy: RetentionPolicy, space: Space): Promise<ReclaimPlan<Known>> =>
  planRetention(items, policy, space, { bytes: async ({ bytes }) => bytes, held: async ({ holder }) => holder })

const policy = (more: Partial<RetentionPolicy> = {}): RetentionPolicy => ({
  now: new Date(now).toISOString(),
  keepMs: { base: 14 * day, tree: 7 * day, archive: null, workspace: null },
  marks: null,
  ...more,
})

const thing = (kind: Known['kind'], age: number, more: Partial<Known> = {}): Known => ({
  kind,
  name: `${kind}-${age}`,
  since: ago(age),
  bytes: 100,
  holder: undefined,
  ...more,
})

const namesOf = ({ goes }: ReclaimPlan<Known>): string[] => goes.map(({ thing: { name } }) => name)
const roomy: Space = { free: 1000, total: 1000 }

describe('what goes', () => {
  it('is what is past its time, the cheapest loss first and in each kind the oldest', async () => {
    const items = [
      thing('workspace', 40 * day),
      thing('tree', 8 * day),
      thing('tree', 9 * day),
      thing('tree', 6 * day),
      thing('cache', 20 * day),
      thing('base', 15 * day),
      thing('base', 13 * day),
      thing('leftover', 0, { spare: 'left unfinished' }),
      thing('archive', 400 * day),
    ]
    const found = await plan(items, policy(), roomy)
    expect(namesOf(found)).toEqual([
      'leftover-0',
      `base-${15 * day}`,
      `cache-${20 * day}`,
      `tree-${9 * day}`,
      `tree-${8 * day}`,
    ])
    expect(found.goes.map(({ why }) => why)).toEqual([
      'left unfinished',
      'no workspace began as it, and it was not used for 15 days; what is not needed stays for 14 days',
      'not used for 20 days; what is not needed stays for 14 days',
      'came into the trash 9 days ago; trash is kept for 7 days',
      'came into the trash 8 days ago; trash is kept for 7 days',
    ])
    expect(found).toMatchObject({ frees: 500, later: 0, stays: [] })
  })

  it('are workspaces only if that is asked for, and then only to the trash', async () => {
    const items = [
      thing('workspace', 40 * day),
      thing('workspace', day),
      thing('workspace', 2000, { expires_at: ago(1000) }),
      thing('workspace', 3000, { expires_at: ago(-1000) }),
    ]
    expect(namesOf(await plan(items, policy(), roomy))).toEqual(['workspace-2000'])
    const keepMs = { ...policy().keepMs, workspace: 30 * day }
    const found = await plan(items, policy({ keepMs }), roomy)
    expect(found.goes).toMatchObject([
      { action: 'trash', why: 'not used for 40 days; workspaces are kept for 30 days' },
      { action: 'trash', why: 'the time it was made for was over 1 second ago' },
    ])
    expect(found).toMatchObject({ frees: 0, later: 200 })
  })

  it('goes on when the storage is too full, until it is not', async () => {
    const marks = { high: 90, low: 80 }
    const items = [
      thing('workspace', 3 * day, { bytes: 60 }),
      thing('workspace', 2 * day, { bytes: 60 }),
      thing('tree', 2 * day, { bytes: 30 }),
      thing('tree', day, { bytes: 30 }),
      thing('base', 2 * day, { bytes: 30 }),
    ]
    const at = (free: number): Promise<ReclaimPlan<Known>> => plan(items, policy({ marks }), { free, total: 1000 })
    expect(namesOf(await at(100))).toEqual([])
    expect(namesOf(await at(99))).toEqual([`base-${2 * day}`, `tree-${2 * day}`, `tree-${day}`, `workspace-${3 * day}`])
    expect((await at(99)).goes[1]?.why).toBe('the storage is 90% full; came into the trash 2 days ago')
    expect(namesOf(await plan(items.slice(2), policy({ marks }), { free: 0, total: 1000 }))).toHaveLength(3)
  })

  it('counts what waits in the trash, so that a second time nothing more goes', async () => {
    const marks = { high: 90, low: 80 }
    const space = { free: 50, total: 1000 }
    const recent = thing('tree', minAgeMs - 1, { bytes: 150 })
    const workspaces = [thing('workspace', 3 * day), thing('workspace', 2 * day)]
    expect(namesOf(await plan([...workspaces], policy({ marks }), space))).toHaveLength(2)
    expect(namesOf(await plan([recent, ...workspaces], policy({ marks }), space))).toEqual([])
    expect(await plan([recent, ...workspaces], policy({ marks }), space)).toMatchObject({ frees: 0, later: 0 })
  })
})

const known: fc.Arbitrary<Known> = fc
  .record({
    kind: fc.constantFrom(...reclaimableKinds),
    age: fc.integer({ min: 0, max: 60 * day }),
    left: fc.option(fc.integer({ min: -day, max: day }), { nil: undefined }),
    bytes: fc.nat(500),
    holder: fc.option(fc.constantFrom('it is leased', 'sh (7) works in it', 'it has the label keep'), {
      nil: undefined,
    }),
    spare: fc.boolean(),
  })
  .map(({ kind, age, left, bytes, holder, spare }) => ({
    kind,
    name: `${kind}-${age}`,
    since: ago(age),
    bytes,
    holder,
    ...(kind === 'workspace' && left !== undefined && { expires_at: ago(-left) }),
    ...((kind === 'leftover' || kind === 'snapshot') && spare && { spare: 'spare' }),
  }))

const days = fc.integer({ min: 0, max: 60 }).map((count) => count * day)
const policies: fc.Arbitrary<RetentionPolicy> = fc.record({
  now: fc.constant(new Date(now).toISOString()),
  keepMs: fc.record({ base: days, tree: days, archive: fc.option(days), workspace: fc.option(days) }),
  marks: fc.option(
    fc
      .tuple(fc.integer({ min: 1, max: 99 }), fc.nat(98))
      .map(([high, low]) => ({ high, low: Math.min(low, high - 1) })),
  ),
})
const spaces = fc.nat(1000).map((free) => ({ free, total: 1000 }))

type Check = (found: ReclaimPlan<Known>, items: Known[], policy: RetentionPolicy, space: Space) => void

const always = (check: Check): Promise<void> =>
  fc.assert(
    fc.asyncProperty(fc.array(known, { maxLength: 30 }), policies, spaces, async (items, rules, space) =>
      check(await plan(items, rules, space), items, rules, space),
    ),
    { numRuns: 500 },
  )

describe('whatever there is', () => {
  it('what somebody holds stays, and is told', () =>
    always(({ goes, stays }) => {
      expect(goes.filter(({ thing: { holder } }) => holder !== undefined)).toEqual([])
      for (const one of stays) expect(one.why).toBe(one.thing.holder)
    }))

  it('nothing goes twice, and nothing both goes and stays', () =>
    always(({ goes, stays }) => {
      const all = [...goes, ...stays].map((one) => one.thing)
      expect(new Set(all).size).toBe(all.length)
    }))

  it('workspaces go to the trash and all else is erased', () =>
    always(({ goes }) => {
      for (const { thing: one, action } of goes) expect(action).toBe(one.kind === 'workspace' ? 'trash' : 'erase')
    }))

  it('what is due goes before what goes for room, and the cheaper loss before the greater', () =>
    always(({ goes }) => {
      const rank = ({ thing: one, pressed }: (typeof goes)[number]): number =>
        (pressed ? 100 : 0) + reclaimableKinds.indexOf(one.kind)
      const ranks = goes.map(rank)
      expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
      for (const [i, one] of goes.entries()) {
        const next = goes[i + 1]
        if (next !== undefined && rank(next) === rank(one)) expect(one.thing.since <= next.thing.since).toBe(true)
      }
    }))

  it('all that is due goes unless it is held; the rest only when it is too full', () =>
    always(({ goes }, items, rules, space) => {
      const due = items.filter((one) => dueReason(one, rules) !== undefined && one.holder === undefined)
      expect(goes.filter(({ pressed }) => !pressed)).toHaveLength(due.length)
      const isFull = rules.marks !== null && bytesAbove(space, rules.marks.high) > 0
      if (!isFull) expect(goes.filter(({ pressed }) => pressed)).toEqual([])
    }))

  it('room is made for as long as it is needed and no longer', () =>
    always(({ goes }, items, rules, space) => {
      const wanted = rules.marks === null ? 0 : bytesAbove(space, rules.marks.low)
      let gone = 0
      let moved = 0
      for (const one of goes) {
        if (one.pressed) expect(one.thing.kind === 'workspace' ? gone + moved : gone).toBeLessThan(wanted)
        if (one.action === 'erase') gone += one.bytes
        else moved += one.bytes
      }
      const isFull = rules.marks !== null && bytesAbove(space, rules.marks.high) > 0
      if (!isFull || gone >= wanted) return
      // It was not enough: then everything went that may.
      const went = new Set(goes.map((one) => one.thing))
      const left = items.filter(
        (one) => ['base', 'cache', 'tree'].includes(one.kind) && one.holder === undefined && !went.has(one),
      )
      for (const one of left) expect(now - Date.parse(one.since)).toBeLessThan(minAgeMs)
    }))

  it('for room nothing goes that was used a moment ago', () =>
    always(({ goes }) => {
      const ages = goes.filter(({ pressed }) => pressed).map((one) => now - Date.parse(one.thing.since))
      expect(Math.min(minAgeMs, ...ages)).toBe(minAgeMs)
    }))

  it('what is told to come back is the sum of it', () =>
    always(({ goes, frees, later }) => {
      const sum = (action: string): number =>
        goes.filter((one) => one.action === action).reduce((total, { bytes }) => total + bytes, 0)
      expect([frees, later]).toEqual([sum('erase'), sum('trash')])
    }))
})
