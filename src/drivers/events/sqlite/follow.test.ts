import { setImmediate as breath } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AnyEvent } from '../../../domain/log/event.ts'
import type { EventStore, FollowOptions } from '../../../ports/event-store.ts'
import { openDatabase, type Database } from './database.ts'
import { collect } from '../../../../test/support/collect.ts'
import { make } from '../../../../test/contracts/event-store/read-model.ts'
import { makeLogHome, type LogHome } from '../../../../test/support/log-home.ts'
import { sampleEvent } from '../../../../test/support/sample-events.ts'
import { sqliteFeed, type Feed } from './follow.ts'
import { sqliteEvents } from './sqlite.ts'

let home: LogHome
let store: EventStore
let feed: Feed
let stop: AbortController
/** Queries for records, by all followers together. */
let reads = 0
/** Looks that are under way. */
let looks = 0

beforeEach(async () => {
  home = makeLogHome()
  store = await sqliteEvents(home)
  feed = sqliteFeed(async () => counting(await openDatabase({ file: home.file, readOnly: true })))
  stop = new AbortController()
  reads = 0
})

afterEach(async () => {
  stop.abort()
  await feed[Symbol.asyncDispose]()
  await store[Symbol.asyncDispose]()
  home.remove()
})

const counting = (database: Database): Database => ({
  ...database,
  async reading(work) {
    looks += 1
    try {
      return await database.reading(work)
    } finally {
      looks -= 1
    }
  },
  all(sql, ...cells) {
    reads += 1
    return database.all(sql, ...cells)
  },
})

const positions = (events: readonly AnyEvent[]): number[] => events.map(({ position }) => position)
const logged = async (options: FollowOptions = {}): Promise<number[]> => positions(await collect(store.follow(options)))

/** Takes what comes, each at its own pace. */
async function follow(options: FollowOptions, seen: number[], pace: () => Promise<void> = async () => undefined) {
  for await (const { position } of feed.follow({ ...options, live: stop.signal })) {
    seen.push(position)
    await pace()
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await breath()
}

/** Events of one workspace, in appends of so many. */
async function label(name: string, appends: number, each: number): Promise<void> {
  const [task = '', agent] = name.split('/')
  const id = await make(store, task, agent)
  for (let i = 0; i < appends; i++) {
    const events = Array.from({ length: each }, () => sampleEvent('workspace_labelled'))
    await store.append(id, 2 + i * each, events)
    feed.wake()
    await breath()
  }
}

it('reads the end of the log once for a thousand followers, and each gets all of it in order', async () => {
  await label('before', 3, 10)
  const start = await logged()
  const seen = Array.from({ length: 1000 }, (): number[] => [])
  const filters = ['a', 'b', undefined].map((task): FollowOptions => ({ task }))
  const following = seen.map((mine, i) => follow({ ...filters[i % 3], after: start[i % start.length] }, mine))
  // Each of them once, and then the end of the log for all.
  await until(() => reads >= 1001)
  const afterCatchingUp = reads
  for (const name of ['a/1', 'b/1', 'a/2', 'c/1']) await label(name, 5, 4)
  const expected = await Promise.all(filters.map((filter) => logged(filter)))
  const wanted = seen.map((_, i) => expected[i % 3]?.filter((one) => one > (start[i % start.length] ?? 0)))
  await until(() => seen.every((mine, i) => mine.length >= (wanted[i]?.length ?? 0)))
  stop.abort()
  await Promise.all(following)
  expect(seen).toEqual(wanted)
  // 28 appends, one look at each at the most.
  expect(reads - afterCatchingUp).toBeLessThanOrEqual(28)
})

it('misses and doubles nothing for those who come while much is appended', async () => {
  const seen: number[][] = []
  const following: Promise<void>[] = []
  const writing = label('busy', 60, 20)
  const state = { done: false }
  void writing.then(() => (state.done = true))
  while (!state.done) {
    const mine: number[] = []
    seen.push(mine)
    following.push(follow({}, mine, () => (seen.length % 2 === 0 ? breath() : Promise.resolve())))
    await breath()
  }
  await writing
  const all = await logged()
  await until(() => seen.every((mine) => mine.length >= all.length))
  stop.abort()
  await Promise.all(following)
  expect(seen.length).toBeGreaterThan(10)
  for (const mine of seen) expect(mine).toEqual(all)
})

it('lets one who is far behind read by himself, and holds up nobody', async () => {
  const [slow, quick]: [number[], number[]] = [[], []]
  let go = Promise.withResolvers<void>()
  const following = [follow({}, quick), follow({}, slow, () => go.promise)]
  await label('much', 1, 1)
  await until(() => slow.length === 1)
  const before = reads
  // More than may wait for one follower.
  await label('more', 30, 100)
  const all = await logged()
  await until(() => quick.length === all.length)
  expect(slow).toHaveLength(1)
  const byQuick = reads - before
  go.resolve()
  await until(() => slow.length === all.length)
  expect(slow).toEqual(all)
  // A thousand of them had waited for him; the rest he has read himself, page by page.
  expect(reads - before - byQuick).toBeGreaterThan(2)
  go = Promise.withResolvers()
  const later = reads
  await label('again', 1, 1)
  go.resolve()
  await until(() => slow.length === all.length + 3)
  stop.abort()
  await Promise.all(following)
  expect(slow).toEqual(await logged())
  expect(reads - later).toBeLessThanOrEqual(3)
})

it('a position beyond the end keeps nobody else from what comes', async () => {
  const [far, near]: [number[], number[]] = [[], []]
  const following = [follow({ after: 1_000_000 }, far), follow({}, near)]
  await until(() => near.length === 1)
  await label('some', 1, 1)
  const all = await logged()
  await until(() => near.length === all.length)
  stop.abort()
  await Promise.all(following)
  expect(near).toEqual(all)
  expect(far).toEqual([])
})

it('whoever stops following is not served any more, and the last one ends the reading', async () => {
  const one = feed.follow({ live: stop.signal })
  await one.next()
  const next = one.next()
  await label('a', 1, 1)
  await next
  await one.return(undefined)
  // A look that was under way may be the last.
  await until(() => looks === 0)
  const before = reads
  await label('b', 1, 1)
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(reads).toBe(before)
})

it('when the log cannot be read, each follower is told', async () => {
  let broken = false
  await using sick = sqliteFeed(async () => {
    const database = await openDatabase({ file: home.file, readOnly: true })
    const check = (): void => {
      if (broken) throw new Error('no')
    }
    return { ...database, reading: async (work) => database.reading(() => (check(), work())) }
  })
  const followers = Array.from({ length: 3 }, () => sick.follow({ live: stop.signal }))
  await Promise.all(followers.map((one) => one.next()))
  const waiting = followers.map(async (one) => one.next())
  await breath()
  broken = true
  sick.wake()
  const ends = await Promise.allSettled(waiting)
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
})
