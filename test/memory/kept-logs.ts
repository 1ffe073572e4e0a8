import type { Exit } from '../../src/domain/sandbox/spec.ts'
import type { OutputChunk } from '../../src/ports/sandbox-driver.ts'
import type { LogId, LogItem, ReadOptions, KeptEnd, KeptLogs } from '../../src/ports/kept-logs.ts'

/** What is kept of one command. */
export interface KeptInMemory {
  readonly items: LogItem[]
  end: KeptEnd | undefined
  /** Wakes who waits for more. */
  readonly waiting: Set<() => void>
}

/** By directory. */
export type KeptCommands = Map<string, KeptInMemory>

export function keptAt(kept: KeptCommands, directory: string): KeptInMemory {
  const found = kept.get(directory) ?? { items: [], end: undefined, waiting: new Set() }
  kept.set(directory, found)
  return found
}

export function keepChunk(at: KeptInMemory, { stream, data }: OutputChunk): void {
  const next = (at.items.at(-1)?.next ?? 0) + data.length
  at.items.push({ stream, data, at: new Date(), next })
  for (const wake of at.waiting) wake()
}

export function keepEnd(at: KeptInMemory, exit: Exit): void {
  at.end = { exit, errno: null, lost: 0, at: new Date() }
  for (const wake of at.waiting) wake()
}

export function memoryKeptLogs(kept: KeptCommands): KeptLogs {
  const place = (run: LogId): string => `/runs/${run}`
  return {
    async place(run) {
      keptAt(kept, place(run))
      return place(run)
    },
    read: (run, options) => readKept(kept, place(run), options),
    end: async (run) => kept.get(place(run))?.end,
    remove: async (run) => void kept.delete(place(run)),
  }
}

async function* readKept(
  kept: KeptCommands,
  directory: string,
  { from = 0, follow, signal }: ReadOptions = {},
): AsyncGenerator<LogItem> {
  let position = from
  for (;;) {
    signal?.throwIfAborted()
    const at = kept.get(directory)
    const over = at === undefined || at.end !== undefined || follow === undefined || (await follow.isOver())
    const news = (at?.items ?? []).filter(({ next }) => next > position)
    for (const item of news) {
      position = item.next
      yield item
    }
    if (over && news.length === 0) return
    if (!over && at !== undefined) await more(at, signal)
  }
}

const more = (at: KeptInMemory, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(late)
      at.waiting.delete(wake)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const late = setTimeout(wake, 20)
    at.waiting.add(wake)
    signal?.addEventListener('abort', wake, { once: true })
  })
