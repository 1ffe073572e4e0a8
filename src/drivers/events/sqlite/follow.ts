import type { AnyEvent } from '../../../domain/log/event.ts'
import { decode } from '../../../domain/log/upcast.ts'
import type { FollowOptions } from '../../../ports/event-store.ts'
import type { Cell, Database, Row } from './database.ts'
import { matchesRecord } from '../filter.ts'
import { lastPosition, recordColumns } from './records.ts'
import { openTail, type Tail, type TailSubscription } from './tail.ts'

/** Follows the log on a connection of its own, so that its version tells of every other connection's commits. */
export interface Feed extends AsyncDisposable {
  follow(options: FollowOptions): AsyncGenerator<AnyEvent>
  /** This process has appended: look now. */
  wake(): void
}

interface PageRead {
  readonly page: Row[]
  readonly isLast: boolean
  /** Where a live follower waits after the last page. */
  readonly seat: TailSubscription | undefined
}

const pageSize = 500

/**
 * Each follower reads for itself what is stored when it comes, then takes a seat at the tail, which all of them share. It
 * does so in the go in which it has read the last of it, so that nothing is missed and nothing comes twice.
 */
export function sqliteFeed(openReader: () => Promise<Database>): Feed {
  let reader: Promise<Database> | undefined
  let tail: Tail | undefined
  let closed = false

  async function* follow(options: FollowOptions): AsyncGenerator<AnyEvent> {
    const { live } = options
    if (closed) return
    const database = await (reader ??= openReader())
    const over = (): boolean => closed || live?.aborted === true
    const select = pageQuery(options)
    let after = options.after ?? 0
    let end = Infinity
    let { last } = options

    /** All in one go: the store may be closed whenever this waits. */
    const look = (): PageRead | undefined => {
      if (over()) return undefined
      // Without the top, a filter that nothing passes would read the same records again each time.
      const top = Math.min(end, lastPosition(database))
      if (last !== undefined) after = startOfLast(database, select, after, top, last)
      last = undefined
      const page = database.all(select.pages, after, top, ...select.cells, pageSize)
      if (!live) end = top
      const isLast = page.length < pageSize
      after = isLast ? Math.max(after, top) : Number(page.at(-1)?.['position'])
      return { page, isLast, seat: isLast && live ? seatAt(database, top) : undefined }
    }
    const seatAt = (database: Database, top: number): TailSubscription => {
      const [from, { after: _, ...wanted }] = [after, options]
      return (tail ??= openTail(database)).join(
        top,
        (record) => record.position > from && matchesRecord(record, wanted),
      )
    }

    for (;;) {
      const found = await database.reading(look)
      if (found === undefined) return
      using subscription = found.seat
      for (const row of found.page) {
        if (over()) return
        yield decode(row as never)
      }
      if (live && subscription) after = yield* followSubscription(subscription, after, live, over)
      else if (found.isLast) return
    }
  }

  return {
    follow,
    wake: () => tail?.wake(),
    async [Symbol.asyncDispose]() {
      closed = true
      tail?.close()
      ;(await reader)?.[Symbol.dispose]()
    },
  }
}

/** Gives what comes to a seat; answers where to go on reading when the seat is lost. */
async function* followSubscription(
  subscription: TailSubscription,
  start: number,
  live: AbortSignal,
  over: () => boolean,
): AsyncGenerator<AnyEvent, number> {
  let after = start
  const rouse = (): void => subscription.rouse()
  live.addEventListener('abort', rouse)
  try {
    while (!over()) {
      const record = subscription.take()
      if (record === undefined && subscription.isLost) break
      if (record === undefined) {
        await subscription.news()
        continue
      }
      yield decode(record)
      after = record.position
    }
    return after
  } finally {
    live.removeEventListener('abort', rouse)
  }
}

/** Where the last so many begin; those before it, and all that came earlier, are not read. */
function startOfLast(database: Database, { lasts, cells }: Select, after: number, top: number, last: number): number {
  const [first] = database.all(lasts, after, top, ...cells, last - 1)
  return first === undefined ? after : Number(first['position']) - 1
}

interface Select {
  readonly pages: string
  /** So many from the end. */
  readonly lasts: string
  readonly cells: Cell[]
}

function pageQuery({ task, agent, stream, types, correlation }: FollowOptions): Select {
  const conditions = ['position > ?', 'position <= ?']
  const cells: Cell[] = []
  for (const [column, value] of Object.entries({ task, agent, stream })) {
    if (value === undefined) continue
    conditions.push(`${column} = ?`)
    cells.push(value)
  }
  if (types) {
    conditions.push('type IN (SELECT value FROM json_each(?))')
    cells.push(JSON.stringify(types))
  }
  if (correlation !== undefined) {
    conditions.push("meta ->> '$.correlation_id' = ?")
    cells.push(correlation)
  }
  const where = `FROM events WHERE ${conditions.join(' AND ')} ORDER BY position`
  return {
    pages: `SELECT ${recordColumns} ${where} LIMIT ?`,
    lasts: `SELECT position ${where} DESC LIMIT 1 OFFSET ?`,
    cells,
  }
}
