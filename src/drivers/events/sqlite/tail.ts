import type { LogRecord } from '../../../domain/log/chain.ts'
import type { Database } from './database.ts'
import { lastPosition, records } from './records.ts'

/**
 * The end of the log, read once for all who wait there, however many they are. Each has a seat with the records that it
 * has not taken yet. Whoever takes too slowly loses the seat and nothing else: the log is there to be read. So it is for
 * everybody if the log could not be read here: each then meets the failure, if there still is one.
 */
export interface Tail {
  /**
   * A seat for what is stored after a position that is the end of the log now. To be called in the same go that has read
   * the log up to there: what is stored in between would be missed.
   */
  join(top: number, wants: (record: LogRecord) => boolean): TailSubscription
  /** Something was stored: look now. */
  wake(): void
  /** Everybody loses their seat. */
  close(): void
}

export interface TailSubscription extends Disposable {
  /** The oldest that waits; undefined if none does. */
  take(): LogRecord | undefined
  /** No more will come: what follows the last one that was taken has to be read. */
  readonly isLost: boolean
  /** Resolves when there is something to take, or the seat is lost, or somebody roused it. */
  news(): Promise<void>
  rouse(): void
}

interface Place extends TailSubscription {
  give(record: LogRecord): void
  lose(): void
}

const pageSize = 500
/** Records that wait for one follower at the most. */
const maxWaiting = 1000
const shortestMs = 1
const longestMs = 25

export function openTail(database: Database): Tail {
  const places = new Set<Place>()
  let closed = false
  let running = false
  /** Everything up to here was given to those who were there. */
  let position = 0
  /** The version of the database when there was nothing after that. */
  let seen: string | undefined
  let woken = false
  let endPause = (): void => undefined

  /** All in one go; the next page of what is new. */
  function look(): readonly LogRecord[] {
    if (closed) return []
    const version = database.version()
    if (version === seen) return []
    const top = lastPosition(database)
    const page = records(
      database,
      'WHERE position > ? AND position <= ? ORDER BY position LIMIT ?',
      position,
      top,
      pageSize,
    )
    const isAll = page.length < pageSize
    seen = isAll ? version : undefined
    position = isAll ? Math.max(position, top) : (page.at(-1)?.position ?? position)
    return page
  }

  async function run(): Promise<void> {
    running = true
    try {
      for (let idleMs = shortestMs; places.size > 0;) {
        woken = false
        const page = await database.reading(look)
        for (const record of page) for (const place of places) place.give(record)
        idleMs = page.length > 0 ? shortestMs : Math.min(idleMs * 1.5, longestMs)
        // Those who are given a whole page need a moment to take it.
        if (page.length === pageSize) await pause(0)
        else if (!woken) await pause(idleMs)
      }
    } catch {
      for (const place of places) place.lose()
    } finally {
      running = false
    }
  }

  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  function wake(): void {
    woken = true
    endPause()
  }

  return {
    join(top, wants) {
      const place = makePlace(top, wants, (gone) => places.delete(gone))
      if (closed) place.lose()
      else places.add(place)
      if (!running && !closed) {
        // Nobody was there to be given what came since.
        position = top
        seen = undefined
        void run()
      }
      return place
    },
    wake,
    close() {
      closed = true
      for (const place of places) place.lose()
      wake()
    },
  }
}

function makePlace(top: number, wants: (record: LogRecord) => boolean, leave: (place: Place) => void): Place {
  const waiting: LogRecord[] = []
  let isLost = false
  let news = Promise.withResolvers<void>()
  const place: Place = {
    take: () => waiting.shift(),
    get isLost() {
      return isLost
    },
    async news() {
      await news.promise
      news = Promise.withResolvers()
    },
    rouse: () => news.resolve(),
    give(record) {
      if (record.position <= top || !wants(record)) return
      if (waiting.length === maxWaiting) return place.lose()
      waiting.push(record)
      news.resolve()
    },
    lose() {
      isLost = true
      leave(place)
      news.resolve()
    },
    [Symbol.dispose]: () => leave(place),
  }
  return place
}
