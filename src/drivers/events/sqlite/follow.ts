import { setTimeout as sleep } from 'node:timers/promises'
import type { AnyEvent } from '../../../domain/event.ts'
import { decode } from '../../../domain/upcast.ts'
import type { FollowOptions } from '../../../ports/event-store.ts'
import type { Cell, Database, Row } from '../../../sys/database.ts'
import { recordColumns } from './records.ts'

/** Follows the log on a connection of its own, so that its version tells of every other connection's commits. */
export interface Feed extends AsyncDisposable {
  follow(options: FollowOptions): AsyncGenerator<AnyEvent>
  /** This process has appended: look now. */
  wake(): void
}

interface Look {
  readonly seen: string
  readonly top: number
  readonly page: Row[]
}

const pageSize = 500
const shortestMs = 1
const longestMs = 25

export function sqliteFeed(openReader: () => Promise<Database>): Feed {
  let reader: Promise<Database> | undefined
  let closed = false
  const waiting = new Set<AbortController>()

  async function* follow(options: FollowOptions): AsyncGenerator<AnyEvent> {
    const { live } = options
    if (closed) return
    const database = await (reader ??= openReader())
    const over = (): boolean => closed || live?.aborted === true
    const select = pageQuery(options)
    let after = options.after ?? 0
    let end = Infinity
    let idleMs = shortestMs

    /** All in one go: the store may be closed whenever this waits. */
    const look = (): Look | undefined => {
      if (over()) return undefined
      const seen = database.version()
      // Without the top, a filter that nothing passes would read the same records again each time.
      const top = Math.min(end, lastPosition(database))
      return { seen, top, page: database.all(select.sql, after, top, ...select.cells, pageSize) }
    }

    for (;;) {
      const found = await database.reading(look)
      if (found === undefined) return
      const { seen, top, page } = found
      if (!live) end = top
      for (const row of page) {
        if (over()) return
        yield decode(row as never)
        idleMs = shortestMs
      }
      if (page.length === pageSize) {
        after = Number(page.at(-1)?.['position'])
        continue
      }
      after = Math.max(after, top)
      if (!live) return
      while (await database.reading(() => !over() && database.version() === seen)) {
        await pause(idleMs, live)
        idleMs = Math.min(idleMs * 1.5, longestMs)
      }
    }
  }

  /** Ends with the time, with `wake` or with the signal. */
  async function pause(ms: number, live: AbortSignal): Promise<void> {
    const waker = new AbortController()
    waiting.add(waker)
    await sleep(ms, undefined, { signal: AbortSignal.any([waker.signal, live]) }).catch(() => undefined)
    waiting.delete(waker)
  }

  const wake = (): void => {
    for (const waker of waiting) waker.abort()
  }

  return {
    follow,
    wake,
    async [Symbol.asyncDispose]() {
      closed = true
      wake()
      ;(await reader)?.[Symbol.dispose]()
    },
  }
}

export const lastPosition = (database: Database): number =>
  Number(database.get('SELECT max(position) AS last FROM events')?.['last'] ?? 0)

function pageQuery({ task, agent, stream, types }: FollowOptions): { sql: string; cells: Cell[] } {
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
  const sql = `SELECT ${recordColumns} FROM events WHERE ${conditions.join(' AND ')} ORDER BY position LIMIT ?`
  return { sql, cells }
}
